// Runs within a report's page, after its own script: what a reader with eyes, a keyboard or a screen reader
// can rely on. Leaves its findings, one a line, in an element that ends the page; the first line counts the
// checks.
const findings = [];
let numChecks = 0;
function check(isRight, finding) {
  ++numChecks;
  if (!isRight) findings.push(finding);
}
const all = selector => [...document.querySelectorAll(selector)];
const describe = e =>
    `<${e.tagName.toLowerCase()}> "${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 40)}"`;

// --- contrast, by WCAG 2.2: 4.5 for text, 3 for what graphics mean
// ---------------------------------------------------------------
const numbers = color => color.match(/[\d.]+/g).map(Number);
function luminance(color) {
  const [r, g, b] =
      numbers(color).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}
function background(element) {
  for (let e = element; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor, parts = numbers(color);
    if (parts.length < 4 || parts[3] > 0) return color;
  }
  return 'rgb(255, 255, 255)';
}
function checkContrast() {
  const worst = new Map();
  const see = (kind, ratio, least, element) => {
    ++numChecks;
    if (ratio < least && !(worst.get(kind)?.ratio < ratio)) worst.set(kind, {ratio, element});
  };
  for (const e of all('main *, a.skip')) {
    const hasText = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const style = getComputedStyle(e);
    if (e instanceof SVGElement) {
      if (e.classList.contains('inside'))
        see('text in a mark', contrast(style.fill, getComputedStyle(e.previousElementSibling).fill), 4.5, e);
      else if (e.tagName === 'text')
        see('label of a chart', contrast(style.fill, background(e.closest('figure'))), 4.5, e);
      else if (e.classList.contains('mark'))
        see(`mark ${e.classList[1]}`, contrast(style.fill, background(e.closest('figure'))), 3, e);
    } else if (hasText)
      see(`text of ${e.tagName}`, contrast(style.color, background(e)), 4.5, e);
  }
  for (const [kind, {ratio, element}] of worst)
    findings.push(`contrast ${ratio.toFixed(2)} of ${kind}: ${describe(element)}`);
}

// --- names, roles, order
// -------------------------------------------------------------------------------------------------------
function checkStructure() {
  check(document.documentElement.lang === 'en', 'no language');
  check(document.title.length > 0, 'no title');
  check(all('main').length === 1 && all('h1').length === 1, 'not one main with one h1');
  let level = 0;
  for (const h of all('h1, h2, h3, h4, h5, h6')) {
    check(Number(h.tagName[1]) <= level + 1, `heading skips a level: ${describe(h)}`);
    level = Number(h.tagName[1]);
  }
  const ids = all('[id]').map(e => e.id);
  check(new Set(ids).size === ids.length, 'an id is there twice');
  for (const link of all('a[href^=\'#\']'))
    check(document.getElementById(link.hash.slice(1)), `leads nowhere: ${describe(link)}`);
  for (const e of all('svg[role=img], button, [role=group], [role=region], nav'))
    check((e.getAttribute('aria-label') ?? e.textContent).trim(), `no name: ${e.outerHTML.slice(0, 80)}`);
  for (const e of all('section'))
    check(document.getElementById(e.getAttribute('aria-labelledby'))?.textContent, `section without a name`);
  for (const t of all('table')) {
    check(t.caption?.textContent.trim(), 'table without a caption');
    for (const th of t.querySelectorAll('th')) check(th.scope, `no scope: ${describe(th)}`);
    for (const row of t.tBodies[0].rows)
      check(
          row.cells.length === t.tHead.rows[0].cells.length,
          `row of another length in "${t.caption.textContent}"`);
  }
  for (const figure of all('figure'))
    check(figure.querySelector('figcaption')?.textContent.trim(), 'figure without a caption');
  for (const section of all('section'))
    check(section.querySelector('table'), `no table beside ${describe(section)}`);
  check(!all('td, th, dd').some(e => /NaN|undefined|Infinity/.test(e.textContent)), 'a number that is none');
  for (const e of all('button'))
    check(
        e.getBoundingClientRect().height >= 24 && e.getBoundingClientRect().width >= 24,
        `small target: ${describe(e)}`);
}

function checkDrawing() {
  check(
      document.documentElement.scrollWidth <= innerWidth,
      `the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}`);
  check(performance.getEntriesByType('resource').length === 0, 'the page fetched something');
  for (const picture of all('svg[role=img]')) {
    const marks = [...picture.querySelectorAll('rect, circle, polyline')];
    check(marks.some(m => m.getBoundingClientRect().width > 1), `nothing drawn in ${describe(picture)}`);
    check(!/NaN|undefined|Infinity/.test(picture.innerHTML), `no number in ${describe(picture)}`);
    const box = picture.getBoundingClientRect();
    for (const text of picture.querySelectorAll('text'))
      check(
          text.getBoundingClientRect().right <= box.right + 24 &&
              text.getBoundingClientRect().left >= box.left - 4,
          `label outside of its chart: ${describe(text)}`);
  }
  for (const name of ['loss', 'where-a-step-goes', 'timeline', 'communication', 'memory'])
    check(document.querySelector(`section[aria-labelledby=${name}] svg`), `no chart in ${name}`);
}

function checkKeyboard() {
  const timeline = document.querySelector('.timeline'), readout = document.querySelector('.readout');
  const says = key => {
    timeline.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
    return readout.textContent;
  };
  timeline.focus();
  check(document.activeElement === timeline, 'the timeline takes no focus');
  const seen = ['0', '+', 'ArrowRight', 'n', '-'].map(says);
  check(new Set(seen).size === seen.length, `keys that do nothing among ${seen.join('; ')}`);
  const names = new Set(all('button').map(b => b.getAttribute('aria-label') ?? b.textContent));
  check(names.size === all('button').length, 'two buttons of one name');
  timeline.blur();
  says('0');
  says('n');
  says('n');
}

// By then all charts know their width and are drawn.
setTimeout(() => {
  all('details').forEach(d => {
    d.open = true;
  });
  for (const part of [checkStructure, checkDrawing, checkContrast, checkKeyboard]) {
    try {
      part();
    } catch (error) {
      findings.push(`${part.name}: ${error.stack}`);
    }
  }
  all('details').forEach(d => {
    d.open = false;
  });
  const result = document.createElement('pre');
  result.id = 'checked';
  result.hidden = true;
  result.textContent =
      [`${numChecks} checks, ${findings.length} findings`, ...findings, 'checked'].join('\n');
  document.body.append(result);
}, 500);
