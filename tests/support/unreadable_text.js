// Every visible text whose colour is too near to what is painted behind it: WCAG 2.2, 1.4.3, asks for 4.5 to 1, and for
// 3 to 1 where it is large. A function; what it returns is empty where all is well.
() => {
  const channels = (colour) => {
    const [red, green, blue, alpha] = colour.match(/[\d.]+/g).map(Number);
    return [red, green, blue, alpha ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map((at) => top[at] * top[3] + under[at] * (1 - top[3])).concat(1);
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [red, green, blue] = colour.map((value) => linear(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const chain = (element) => (element ? [...chain(element.parentElement), element] : []);
  const behind = (element) =>
    chain(element)
      .map((one) => channels(getComputedStyle(one).backgroundColor))
      .reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  const opacity = (element) => chain(element).reduce((all, one) => all * parseFloat(getComputedStyle(one).opacity), 1);
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    const seen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return seen && box.width > 1 && box.height > 1;
  };
  const wrong = new Set();
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const said = node.data.trim();
    if (!said || element.closest("script, style, noscript") || !shown(element)) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const ground = behind(element);
    const ink = channels(style.color);
    ink[3] *= opacity(element);
    const [lighter, darker] = [light(over(ink, ground)), light(ground)].sort((one, other) => other - one);
    const ratio = (lighter + 0.05) / (darker + 0.05);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5))
      wrong.add(`${ratio.toFixed(2)} to 1: ${element.tagName} ${element.className}: ${said.slice(0, 30)}`);
  }
  if (texts < 20) wrong.add(`only ${texts} texts are seen`);
  return [...wrong].slice(0, 10);
}
