// The Web Worker in which Python runs: loads it, then answers one request after the other.
// A request is {id, request}; what comes back is {ready}, {failed} or {id, answer}. Templates run here, so that the page
// can end all of it.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const here = new URL(".", import.meta.url);

async function begin() {
  const archive = fetch(new URL("python.tar.gz", here)).then((response) => {
    if (!response.ok) throw new Error(`python.tar.gz: ${response.status}`);
    return response.arrayBuffer();
  });
  const python = await loadPyodide({ indexURL: new URL("pyodide/", here).href });
  python.unpackArchive(await archive, "gztar", { extractDir: "/playground" });
  python.runPython("import sys; sys.path.insert(0, '/playground')");
  return python.runPython("from playground_glue import answer; answer");
}

// Of a WebAssembly that it did not get Pyodide says nothing: it is awaited for ever.
const refused = new Promise((_, reject) => {
  const instantiate = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = (...given) => {
    const done = instantiate.apply(WebAssembly, given);
    done.catch(reject);
    return done;
  };
});

const beginning = Promise.race([begin(), refused]);
beginning.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: String(error).split("\n").filter(Boolean).pop() }),
);
onmessage = async ({ data }) => {
  const answer = await beginning;
  try {
    postMessage({ id: data.id, answer: answer(JSON.stringify(data.request)) });
  } catch (error) {
    // Python itself has ended (its stack or its memory): the page begins another.
    postMessage({ id: data.id, fatal: String(error).split("\n")[0] });
  }
};
