// Elements, numbers, axes and tables: what every chart is made of.

/**
 * An element of HTML with attributes, and children that are elements or text (text is never parsed as
 * markup).
 */
function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

const fixed = (value, digits) =>
    value.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});
const whole = value => fixed(value, 0);
/** Three significant digits, as people read a measurement. */
const short = value => Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(3)));
const milliseconds = s => fixed(s * 1e3, s < 0.01 ? 2 : 1);
const percent = share => Number.isFinite(share) ? fixed(100 * share, 1) + ' %' : '';

function withUnit(value, units, base) {
  let i = 0;
  while (Math.abs(value) >= base && i + 1 < units.length) {
    value /= base;
    ++i;
  }
  return `${short(value)} ${units[i]}`;
}
const bytes = value => withUnit(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
const perSecond = value => withUnit(value, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'], 1000);
const flops = value => withUnit(value, ['FLOP/s', 'kFLOP/s', 'MFLOP/s', 'GFLOP/s', 'TFLOP/s'], 1000);
function seconds(s) {
  const size = Math.abs(s);
  return size === 0 ? '0 s' :
      size >= 1     ? `${short(s)} s` :
          size >= 1e-3 ? `${short(s * 1e3)} ms` :
                         `${short(s * 1e6)} µs`;
}

/** About `count` round numbers from least to most. */
function ticks(least, most, count) {
  const rough = Math.max(most - least, Number.MIN_VALUE) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough * 0.999);
  const values = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most + step * 1e-9; ++i)
    values.push(i * step + 0);  // no -0
  return values;
}

const scale = (from, to) => value => to[0] + (value - from[0]) / ((from[1] - from[0]) || 1) * (to[1] - to[0]);

/**
 * A table in a frame that scrolls by itself where it is wider than the page. Columns: {name, of(row), text}.
 */
function table(caption, columns, rows, isHere = () => false) {
  const cell = (column, row, i) => {
    const value = String(column.of(row));
    return html(
        i === 0 ? 'th' : 'td', {class: column.text ? 'text' : undefined, scope: i === 0 ? 'row' : undefined},
        value);
  };
  const head = columns.map(c => html('th', {scope: 'col', class: c.text ? 'text' : undefined}, c.name));
  const body =
      rows.map(row => html('tr', isHere(row) ? {class: 'here'} : {}, columns.map((c, i) => cell(c, row, i))));
  return html(
      'div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption},
      html(
          'table', {}, html('caption', {}, html('span', {}, caption)),
          html('thead', {}, html('tr', {}, head)), html('tbody', {}, body)));
}

function folded(summary, ...content) {
  return html('details', {}, html('summary', {}, summary), content);
}

function legend(items) {
  return html(
      'ul', {class: 'legend'},
      items.map(
          ({name, part, shape = ''}) =>
              html('li', {class: part}, html('span', {class: `key ${shape}`}), html('span', {}, name))));
}

/** A chart that is drawn again whenever its width changes. draw(width) returns {height, marks}. */
function chart(label, draw) {
  const picture = svg('svg', {role: 'img', 'aria-label': label});
  const redraw = () => {
    const width = Math.max(280, Math.round(picture.clientWidth || picture.parentNode?.clientWidth || 640));
    const {height, marks} = draw(width);
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.replaceChildren(...marks.flat(Infinity));
  };
  let last = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - last) < 1) return;
    last = entry.contentRect.width;
    requestAnimationFrame(
        redraw);  // it changes the height, which the observer may not see within its own call
  }).observe(picture);
  return {picture, redraw};
}

let numFigures = 0;
function figure(caption, ...content) {
  ++numFigures;
  return html(
      'figure', {}, content, html('figcaption', {}, html('b', {}, `Figure ${numFigures}. `), caption));
}

/** Horizontal bars of segments that add up. Rows: {name, parts: [{part, value, title}], marker}. */
function bars(label, rows, show, base = 1000) {
  return chart(label, width => {
    const left = Math.min(150, Math.max(...rows.map(row => row.name.length)) * 6.6 + 12), right = 64,
          height = 22, gap = 10;
    // Round numbers of the unit that is shown: 20 MiB, not 20 million bytes.
    const total = row => row.parts.reduce((sum, p) => sum + p.value, 0);
    const most = Math.max(...rows.map(row => Math.max(total(row), row.marker ?? 0)), Number.MIN_VALUE);
    const x = scale([0, most], [left, width - right]), bottom = rows.length * (height + gap);
    const unit = base ** Math.floor(Math.log(most) / Math.log(base));
    const marks =
        ticks(0, most / unit, Math.max(2, Math.floor((width - left - right) / 90)))
            .map(value => value * unit)
            .map(
                value =>
                    [svg('line', {class: 'grid', x1: x(value), x2: x(value), y1: 0, y2: bottom}),
                     svg('text', {x: x(value), y: bottom + 16, 'text-anchor': 'middle'}, show(value))]);
    rows.forEach((row, i) => {
      const y = i * (height + gap) + gap / 2;
      let sum = 0;
      marks.push(
          svg('text', {class: 'strong', x: left - 8, y: y + height / 2 + 4, 'text-anchor': 'end'}, row.name));
      for (const {part, value, title} of row.parts) {
        const begin = x(sum), end = x(sum += value);
        if (value > 0)
          marks.push(svg(
              'rect', {class: `mark ${part}`, x: begin, y, height, width: Math.max(0.5, end - begin - 0.75)},
              svg('title', {}, title)));
      }
      if (row.marker > 0)
        marks.push(svg(
            'line', {class: 'formula', x1: x(row.marker), x2: x(row.marker), y1: y - 3, y2: y + height + 3}));
      marks.push(
          svg('text', {class: 'strong', x: x(Math.max(sum, row.marker ?? 0)) + 6, y: y + height / 2 + 4},
              show(sum)));
    });
    return {height: bottom + 22, marks};
  });
}

/** Lines over numbered steps. Series: {part, points: [[x, y]], dots}. */
function lines(label, series, xName) {
  return chart(label, width => {
    const height = Math.round(Math.min(320, width * 0.6)), left = 44, bottom = height - 34, right = 12;
    const points = series.flatMap(s => s.points);
    const span = i => [Math.min(...points.map(p => p[i])), Math.max(...points.map(p => p[i]))];
    const [least, most] = span(1), room = (most - least || 1) * 0.05;
    const x = scale([0, Math.max(1, span(0)[1])], [left, width - right]),
          y = scale([least - room, most + room], [bottom, 8]);
    const marks =
        ticks(least - room, most + room, 5)
            .map(
                value =>
                    [svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value)}),
                     svg('text', {x: left - 8, y: y(value) + 4, 'text-anchor': 'end'}, short(value))]);
    for (const value of ticks(0, Math.max(1, span(0)[1]), Math.max(2, Math.floor(width / 110)))
             .filter(Number.isInteger))
      marks.push(svg('text', {x: x(value), y: bottom + 18, 'text-anchor': 'middle'}, whole(value)));
    marks.push(svg('text', {x: (left + width - right) / 2, y: height - 1, 'text-anchor': 'middle'}, xName));
    for (const {part, points: own, dots} of series) {
      if (!dots)
        marks.push(svg('polyline', {
          class: `line ${part}`,
          points: own.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' ')
        }));
      if (dots || own.length < 3)
        for (const [a, b] of own)
          marks.push(
              svg('circle', {class: `mark ${part}`, cx: x(a), cy: y(b), r: 4},
                  svg('title', {}, `${a}: ${short(b)}`)));
    }
    return {height, marks};
  });
}
