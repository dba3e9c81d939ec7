// The playground's page: reads its boxes, asks the worker, shows what comes back.
// Everything is shown as text (textContent): nothing that was pasted can become an element. The report's own page, which
// toolfmt has escaped, is shown in a frame that may run nothing.
const asked = Number(new URLSearchParams(location.search).get("seconds"));
const SECONDS = asked >= 1 && asked <= 600 ? asked : 20;
const here = new URL(".", import.meta.url);
const box = (name) => document.getElementById(`pg-${name}`);

// --- elements

function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value) made.setAttribute(key, value);
  made.append(...inside.filter((one) => one !== null && one !== undefined));
  return made;
}

function show(place, ...what) {
  box(place).replaceChildren(...what.filter(Boolean));
}

function say(text, kind = "") {
  const status = box("status");
  status.textContent = text;
  status.className = `pg-status ${kind}`;
}

const failed = (text) => element("p", { class: "pg-error" }, text);

// --- the worker: one request at a time, ended when it takes too long

let worker = null;
let ready = null;
let state = "loading"; // then "ready" or "lost"
let number = 0;
let queue = Promise.resolve();

const notLoaded = (what, why) =>
  new Error(`${what} could not be loaded (${why}): see whether this site can be reached, then click Inspect to try again.`);

// Python in a worker of its own; the status line says how far it is, unless something else has been said since.
function start(loading) {
  state = "loading";
  say(loading, "busy");
  const mine = new Worker(new URL("worker.js", here), { type: "module" });
  worker = mine;
  ready = new Promise((resolve, reject) => {
    mine.onerror = (event) => reject(notLoaded("Python", event.message || "a file is missing"));
    mine.addEventListener("message", ({ data }) => {
      if (data.ready) resolve();
      if (data.failed) reject(notLoaded("Python", data.failed));
    });
  });
  ready.then(
    () => {
      state = "ready";
      if (box("status").textContent === loading) say("Python is loaded.");
    },
    (error) => {
      state = "lost";
      mine.terminate();
      say(error.message, "bad");
    },
  );
}

function restart() {
  worker.terminate();
  start("Loading Python anew …");
}

// What Python answers; throws an Error of one line.
function ask(request) {
  const turn = queue.then(() => asking(request));
  queue = turn.catch(() => {});
  return turn;
}

async function asking(request) {
  if (state === "lost") restart();
  await ready;
  if (request.ask === "inspect") say("Inspecting …", "busy");
  const id = ++number;
  const current = worker;
  const answer = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      restart();
      reject(new Error(`The template ran for more than ${SECONDS} seconds and was ended.`));
    }, SECONDS * 1000);
    current.addEventListener("message", function told({ data }) {
      if (data.id !== id) return;
      clearTimeout(timer);
      current.removeEventListener("message", told);
      if (data.fatal) {
        restart();
        reject(new Error(`Python in the browser has ended (${data.fatal}).`));
      } else resolve(JSON.parse(data.answer));
    });
    current.postMessage({ id, request });
  });
  if (answer.error) throw new Error(answer.error);
  return answer.value;
}

// --- what is asked

let name = "model";

const OTHERS = {
  "tokenizer_config.json": "tokenizer",
  "config.json": "config",
  "generation_config.json": "generation",
};

const inputs = () => ({
  name,
  files: {
    "chat_template.jinja": box("template").value,
    ...Object.fromEntries(Object.entries(OTHERS).map(([file, place]) => [file, box(place).value])),
  },
  messages: box("messages").value,
  tools: box("tools").value,
  variables: box("variables").value,
  strategy: box("strategy").value,
  format: box("format").value,
  pieces: box("pieces").value,
});

// All three, one behind the other; `data-done` counts how often that was finished.
async function inspect() {
  await inspecting();
  const { dataset } = document.getElementById("pg");
  dataset.done = String(Number(dataset.done ?? 0) + 1);
}

async function inspecting() {
  if (state === "ready") say("Inspecting …", "busy");
  show("report");
  show("prompt");
  show("events");
  try {
    await prepare();
    const begun = performance.now();
    const told = await ask({ ask: "inspect", ...inputs() });
    showReport(told);
    say(`Inspected in ${((performance.now() - begun) / 1000).toFixed(1)} seconds.`);
  } catch (error) {
    show("report", failed(error.message));
    if (state === "ready") say(error.message, "bad"); // else the line says what became of Python
    return;
  }
  await render();
}

async function render() {
  try {
    showPrompt(await ask({ ask: "render", ...inputs() }));
  } catch (error) {
    show("prompt", failed(error.message));
  }
  await read();
}

let reading = false;
let again = false;
// Keys that are typed while Python reads are read together behind it.
async function read() {
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  try {
    const text = box("answer").value;
    if (text) showEvents(await ask({ ask: "read", ...inputs(), text }));
    else show("events");
  } catch (error) {
    show("events", failed(error.message));
  }
  reading = false;
  if (again) {
    again = false;
    await read();
  }
}

async function write() {
  try {
    box("answer").value = await ask({ ask: "write", ...inputs() });
    await read();
  } catch (error) {
    show("events", failed(error.message));
  }
}

// --- what is shown

function showReport(told) {
  const verdict = element(
    "div",
    { class: `pg-verdict ${told.level}` },
    element("p", {}, element("strong", {}, `${told.verdict}: `), told.sentence),
    told.first ? element("p", {}, `First ${told.first}`) : null,
    element("p", { class: "pg-quiet" }, told.counts),
  );
  const named = told.format ? `${told.format} (${told.confidence}${told.derived ? `: ${told.derived}` : ""})` : "none";
  const settings = element("dl", { class: "pg-settings" });
  for (const one of told.settings) {
    settings.append(
      element("dt", {}, one.what),
      element("dd", {}, element(one.typed ? "code" : "span", {}, one.text), one.more ? ` ${one.more}` : null),
    );
  }
  const frame = element("iframe", { title: "The whole report", class: "pg-frame" });
  frame.setAttribute("sandbox", ""); // nothing is allowed in it, scripts least of all
  const whole = element("details", {}, element("summary", {}, "The whole report"), frame);
  whole.addEventListener("toggle", () => {
    if (whole.open && !frame.srcdoc) frame.srcdoc = told.page;
  });
  show(
    "report",
    verdict,
    element("p", {}, "Format of the calls: ", element("code", { id: "pg-found" }, named)),
    ...told.findings.map(finding),
    element("details", {}, element("summary", {}, "Settings for runtimes"), settings),
    whole,
  );
  box("report").dataset.json = JSON.stringify(told.json);
  box("format").options[0].textContent = told.format ? `as inspected: ${told.format}` : "as inspected";
}

function finding(found) {
  const link = element("a", { href: `../reference/findings/${encodeURIComponent(found.code)}.html` }, found.code);
  return element(
    "article",
    { class: `pg-finding ${found.severity}` },
    element(
      "p",
      {},
      element("span", { class: "pg-badge" }, found.severity),
      " ",
      link,
      found.line ? ` line ${found.line}` : null,
    ),
    element("p", {}, found.message),
    found.severity === "note" ? null : element("p", { class: "pg-quiet" }, `→ ${found.fix}`),
  );
}

function showPrompt(told) {
  const facts = [`strategy ${told.strategy}`, `format ${told.format ?? "not known"}`];
  if (told.adaptations.length) facts.push(`adaptations: ${told.adaptations.join(", ")}`);
  if (told.prefill) facts.push(`the answer is begun with ${told.prefill}`);
  const list = element("ol", { class: "pg-pieces", tabindex: "0", "aria-label": "The prompt in pieces" });
  for (const piece of told.pieces) {
    const code = element("code");
    for (const [text, marker] of piece.parts) code.append(...shown(text, marker));
    const label = piece.name ? `${piece.kind} ${piece.name}` : piece.kind;
    list.append(element("li", { class: `pg-piece ${piece.kind}` }, element("span", { class: "pg-label" }, label), code));
  }
  show("prompt", element("p", { class: "pg-facts" }, facts.join(" · ")), list);
  box("prompt").dataset.text = told.text;
}

// A text with its control characters as escapes; a marker is framed.
function shown(text, marker) {
  const visible = text.replace(
    /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu,
    (sign) => (sign === "\n" || sign === "\t" ? sign : `\\u{${sign.codePointAt(0).toString(16)}}`),
  );
  return visible ? [marker ? element("span", { class: "pg-marker" }, visible) : visible] : [];
}

const TEXTS = { content: "text", reasoning: "text", tool_call_arguments: "delta" };

// Rows of events: neighbours of one kind share a row, each piece in an element of its own.
function rows(events) {
  const made = [];
  let last = null;
  for (const event of events) {
    const key = TEXTS[event.type];
    if (!(key && last && last.type === event.type && last.index === event.index)) {
      const what = element("code");
      made.push(element("li", { class: `pg-event ${event.type}` }, element("span", {}, event.type), what));
      last = { type: event.type, index: event.index, what };
    }
    if (key) last.what.append(element("span", { class: "pg-delta" }, ...shown(event[key], false)));
    else last.what.append(...shown(others(event), false));
  }
  return made;
}

function others(event) {
  const { type, ...rest } = event;
  return JSON.stringify(rest);
}

function showEvents(told) {
  const list = element("ol", { class: "pg-list", "aria-label": "Events" }, ...rows(told.events));
  const end = element("ol", { class: "pg-list end", "aria-label": "Events at the end" }, ...rows(told.end));
  show(
    "events",
    element("p", { class: "pg-facts" }, `read as ${told.format} · ${told.waiting}`),
    list,
    told.end.length ? element("p", { class: "pg-facts" }, "If the answer ended here:") : null,
    told.end.length ? end : null,
    element("p", { class: "pg-facts" }, "The message:"),
    element("pre", {}, element("code", {}, ...shown(JSON.stringify(told.message, null, 1), false))),
  );
  box("events").dataset.events = JSON.stringify([...told.events, ...told.end]);
}

// --- the page

let chosen = null; // the example whose files lie in the boxes

function choose(example) {
  if (!example) return;
  chosen = example;
  name = example.name;
  box("template").value = example.template;
  for (const [file, place] of Object.entries(OTHERS)) box(place).value = example.files[file] ?? "";
  box("messages").value = JSON.stringify(example.messages, null, 1);
  box("tools").value = JSON.stringify(example.tools, null, 1);
  box("variables").value = "";
  box("answer").value = "";
}

// Whether one text is the other with a change in it: what they begin and end alike with is half of the longer at least.
function resembles(one, other) {
  const shorter = Math.min(one.length, other.length);
  let begin = 0;
  while (begin < shorter && one[begin] === other[begin]) begin++;
  let end = 0;
  while (end < shorter - begin && one.at(-1 - end) === other.at(-1 - end)) end++;
  return 2 * (begin + end) >= Math.max(one.length, other.length);
}

// Another template than the example's is of another model: the example's other files are taken away, a person's stay.
function changed() {
  box("example").value = "";
  name = "model";
  if (!chosen || resembles(chosen.template, box("template").value)) return;
  for (const [file, place] of Object.entries(OTHERS)) {
    if (box(place).value === chosen.files[file]) box(place).value = "";
  }
  chosen = null;
}

function later(what) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(what, 400);
  };
}

let examples = null;
let formats = null;
let prepared = null;

// What the lists of the page hold; what could not be loaded is asked for again the next time.
function prepare() {
  prepared ??= preparing().catch((error) => {
    prepared = null;
    throw error;
  });
  return prepared;
}

async function preparing() {
  if (state === "lost") restart();
  const python = ready;
  if (!examples) showExamples(await loadedExamples());
  await python; // what was lost meanwhile is told, not tried again at once
  if (!formats) {
    formats = await ask({ ask: "formats" });
    for (const one of formats) box("format").append(element("option", { value: one.name }, one.name));
  }
}

async function loadedExamples() {
  try {
    const response = await fetch(new URL("examples.json", here));
    if (!response.ok) throw new Error(String(response.status));
    return await response.json();
  } catch (error) {
    throw notLoaded("The examples", error.message);
  }
}

function showExamples(loaded) {
  examples = loaded;
  examples.forEach((one, at) => box("example").append(element("option", { value: String(at + 1) }, one.title)));
  // What was pasted while this was loaded, or what the browser kept of an earlier visit, stays.
  if (!box("template").value) {
    box("example").value = "1";
    choose(examples[0]);
  }
  box("example").addEventListener("change", () => {
    choose(examples[Number(box("example").value) - 1]);
    if (box("example").value) inspect();
  });
}

function listen() {
  for (const button of ["inspect", "write"]) box(button).disabled = false;
  box("inspect").addEventListener("click", inspect);
  box("write").addEventListener("click", write);
  box("answer").addEventListener("input", read);
  for (const one of ["format", "pieces"]) box(one).addEventListener("change", read);
  for (const one of ["messages", "tools", "variables"]) box(one).addEventListener("input", later(render));
  box("strategy").addEventListener("change", render);
}

async function begin() {
  const begun = performance.now();
  box("template").addEventListener("input", changed); // Python is not awaited: people paste before it is there
  start("Loading Python …");
  try {
    await prepare();
  } catch (error) {
    say(error.message, "bad");
    listen();
    return;
  }
  document.getElementById("pg").dataset.ready = ((performance.now() - begun) / 1000).toFixed(2);
  listen();
  await inspect();
}

begin();
