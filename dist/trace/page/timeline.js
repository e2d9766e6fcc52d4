// What each rank was busy with, and what was under way: the events of --trace, one band of rows per rank.

const categoryPart = {
  op: 'compute',
  data: 'data',
  comm: 'exposed_comm',
  exposed: 'exposed_comm',
  wait: 'wait',
  operation: 'hidden_comm'
};
const isOptimizer = event =>
    event.cat === 'op' && (event.name === 'optimizer' || event.name === 'gradient norm');
const partOf = event => isOptimizer(event) ? 'optimizer' : categoryPart[event.cat] ?? 'other';

/** Rows of spans, by rank and thread, steps apart; times in seconds. */
function readEvents(events) {
  const rows = new Map(), steps = [], arrows = new Map();
  for (const e of events) {
    const begin = e.ts * 1e-6, end = begin + (e.dur ?? 0) * 1e-6;
    if (e.ph === 'X' && e.cat === 'step')
      steps.push({rank: e.pid, name: e.name, begin, end});
    else if (e.ph === 'X') {
      const key = `${e.pid}/${e.tid}`;
      if (!rows.has(key)) rows.set(key, {rank: e.pid, thread: e.tid, spans: []});
      rows.get(key).spans.push({name: e.name, part: partOf(e), begin, end});
    } else if (e.ph === 's' || e.ph === 'f') {
      if (!arrows.has(e.id)) arrows.set(e.id, {});
      arrows.get(e.id)[e.ph] = {key: `${e.pid}/${e.tid}`, at: begin};
    }
  }
  const sorted = [...rows.values()].sort((a, b) => a.rank - b.rank || a.thread - b.thread);
  // Outer spans first, so that inner ones are painted over them.
  for (const row of sorted) row.spans.sort((a, b) => a.begin - b.begin || b.end - a.end);
  return {rows: sorted, steps, arrows: [...arrows.values()].filter(a => a.s && a.f)};
}

/** Seconds of each span's own, without what lies inside it. */
function ownSeconds(spans, from, to) {
  const totals = new Map(), open = [];
  const add = (span, s) => {
    const total = totals.get(span.name) ?? {name: span.name, part: span.part, count: 0, s: 0};
    totals.set(span.name, {...total, s: total.s + s});
  };
  for (const span of spans) {
    const s = Math.min(span.end, to) - Math.max(span.begin, from);
    if (s <= 0) continue;
    while (open.length && open.at(-1).end <= span.begin) open.pop();
    if (open.length) add(open.at(-1), -s);
    add(span, s);
    totals.get(span.name).count += 1;
    open.push(span);
  }
  return [...totals.values()].sort((a, b) => b.s - a.s);
}

class Timeline {
  constructor(events) {
    Object.assign(this, readEvents(events));
    const all = this.steps.length ? this.steps : this.rows.flatMap(row => row.spans);
    this.first = Math.min(...all.map(s => s.begin));
    this.last = Math.max(...all.map(s => s.end));
    this.ranks = [...new Set(this.rows.map(row => row.rank))];
    this.ownSteps = this.steps.filter(step => step.rank === this.ranks[0]);
    this.view = [this.first, this.last];
    this.chart = chart(
        `Timeline of ${this.ranks.length} rank${this.ranks.length === 1 ? '' : 's'}`,
        width => this.draw(width));
    this.readout = html('p', {class: 'readout', 'aria-live': 'polite'});
    this.numbers = html('div');
    this.goToStep(Math.min(2, this.ownSteps.length - 1));
  }

  element() {
    const button = (text, name, action) => {
      const b = html('button', {type: 'button', 'aria-label': name, title: name}, text);
      b.addEventListener('click', action);
      return b;
    };
    const tools = html(
        'div', {class: 'tools', role: 'group', 'aria-label': 'Timeline controls'},
        button('−', 'Zoom out', () => this.zoom(2)), button('+', 'Zoom in', () => this.zoom(0.5)),
        button('←', 'Earlier', () => this.pan(-0.25)), button('→', 'Later', () => this.pan(0.25)),
        button('Previous step', 'Previous step', () => this.goToStep(this.step - 1)),
        button('Next step', 'Next step', () => this.goToStep(this.step + 1)),
        button('All', 'Show all', () => this.show(this.first, this.last)));
    const frame = html(
        'div', {
          class: 'timeline',
          tabindex: 0,
          role: 'group',
          'aria-label':
              'Timeline: left and right move, plus and minus zoom, N and P go from step to step, 0 shows all'
        },
        this.chart.picture);
    this.listen(frame);
    return html('div', {}, tools, frame, this.readout);
  }

  listen(frame) {
    const keys = {
      ArrowLeft: () => this.pan(-0.25),
      ArrowRight: () => this.pan(0.25),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      n: () => this.goToStep(this.step + 1),
      p: () => this.goToStep(this.step - 1),
      0: () => this.show(this.first, this.last)
    };
    frame.addEventListener('keydown', event => {
      const action = event.ctrlKey || event.metaKey || event.altKey ?
          undefined :
          keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
    const share = event => {
      const box = this.chart.picture.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left - this.left) / (box.width - this.left)));
    };
    frame.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.shiftKey) return;  // plain scrolling stays the page's
      event.preventDefault();
      this.zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, share(event));
    }, {passive: false});
    let from;
    frame.addEventListener('pointerdown', event => {
      from = share(event);
    });
    window.addEventListener('pointerup', () => {
      from = undefined;
    });
    frame.addEventListener('pointermove', event => {
      this.readout.textContent = event.target.dataset?.says ?? this.readout.textContent;
      if (from === undefined) return;
      this.pan(from - share(event));
      from = share(event);
    });
  }

  show(begin, end) {
    const width = Math.min(Math.max(end - begin, 2e-6), this.last - this.first);
    const from = Math.min(Math.max(begin, this.first), this.last - width);
    this.view = [from, from + width];
    const middle = from + width / 2, step = this.ownSteps.findIndex(s => middle < s.end);
    this.step = step < 0 ? this.ownSteps.length - 1 : step;
    if (this.chart.picture.isConnected) this.chart.redraw();
    this.readout.textContent =
        `${seconds(width)} from ${seconds(from - this.first)} after the first step began`;
    this.count();
  }
  zoom(factor, at = 0.5) {
    const [begin, end] = this.view, middle = begin + (end - begin) * at;
    this.show(middle - (middle - begin) * factor, middle + (end - middle) * factor);
  }
  pan(share) {
    const [begin, end] = this.view, by = (end - begin) * share;
    this.show(begin + by, end + by);
  }
  goToStep(i) {
    const step = this.ownSteps[Math.min(Math.max(i, 0), this.ownSteps.length - 1)];
    if (!step) return this.show(this.first, this.last);
    const room = (step.end - step.begin) * 0.02;
    this.show(step.begin - room, step.end + room);
  }

  /** The table beside the picture: what the first rank spent the time in view on. */
  count() {
    const busy = this.rows.find(row => row.thread === 0), [from, to] = this.view;
    if (!busy) return;
    const columns = [
      {name: 'span', of: r => r.name, text: true},
      {name: 'part', of: r => r.part.replace('_comm', ' communication'), text: true},
      {name: 'times', of: r => whole(r.count)}, {name: 'ms', of: r => fixed(r.s * 1e3, 2)},
      {name: 'of the view', of: r => percent(r.s / (to - from))}
    ];
    this.numbers.replaceChildren(table(
        `What rank ${busy.rank} spent the time in view on, without what lies inside a span`, columns,
        ownSeconds(busy.spans, from, to).slice(0, 20)));
  }

  draw(width) {
    const [from, to] = this.view, left = this.left = 58, x = scale([from, to], [left, width]), marks = [],
                 top = new Map();
    let y = 22;
    for (const rank of this.ranks) {
      marks.push(svg('text', {class: 'strong', x: 0, y: y + 15}, `rank ${rank}`));
      for (const row of this.rows.filter(r => r.rank === rank)) {
        const height = row.thread === 0 ? 22 : 7;
        top.set(`${rank}/${row.thread}`, y + height / 2);
        marks.push(this.drawSpans(row, x, y, height, left, width));
        y += height + 2;
      }
      y += 12;
    }
    for (const value of ticks(from - this.first, to - this.first, Math.max(2, Math.floor(width / 130))))
      marks.push(
          svg('text', {x: Math.min(x(value + this.first), width - 20), y: y + 6, 'text-anchor': 'middle'},
              seconds(value)));
    return {height: y + 12, marks: [this.drawSteps(x, y, left, width), ...marks, this.drawArrows(x, top)]};
  }

  drawSteps(x, bottom, left, width) {
    return this.ownSteps.filter(s => x(s.end) > left && x(s.begin) < width).map(step => {
      const begin = Math.max(left, x(step.begin)), end = Math.min(width, x(step.end));
      return [
        svg('line', {class: 'axis', x1: begin, x2: begin, y1: 4, y2: bottom - 8}),
        end - begin > 8 * step.name.length ? svg('text', {x: begin + 5, y: 13}, step.name) : []
      ];
    });
  }

  /** Spans in view; of those thinner than half a pixel, one a pixel and part. */
  drawSpans(row, x, y, height, left, width) {
    const marks = [], last = {};
    for (const span of row.spans) {
      const begin = Math.max(left, x(span.begin)), end = Math.min(width, x(span.end));
      if (end <= left || begin >= width) continue;
      if (end - begin < 0.5 && begin - (last[span.part] ?? -1) < 1) continue;
      last[span.part] = begin;
      const says = `rank ${row.rank}: ${span.name}, ${seconds(span.end - span.begin)}`;
      marks.push(
          svg('rect', {
            class: `mark ${span.part}`,
            x: begin.toFixed(2),
            y,
            height,
            width: Math.max(0.5, end - begin - (end - begin > 3 ? 0.5 : 0)).toFixed(2),
            'data-says': says
          },
              svg('title', {}, says)));
      if (height > 10 && end - begin > 6.5 * span.name.length + 8)
        marks.push(
            svg('text', {class: 'inside', x: begin + 4, y: y + height / 2 + 4, 'pointer-events': 'none'},
                span.name));
    }
    return marks;
  }

  /**
   * Messages from where they were sent to where they were seen to have come, if there are few enough to
   * follow.
   */
  drawArrows(x, top) {
    const [from, to] = this.view,
                 inView = this.arrows.filter(
                     a => a.f.at >= from && a.s.at <= to && top.has(a.s.key) && top.has(a.f.key));
    if (inView.length > 120) return [];
    return inView.map(({s, f}) => svg('line', {
                        class: 'arrow',
                        x1: Math.max(this.left, x(s.at)),
                        y1: top.get(s.key),
                        x2: x(f.at),
                        y2: top.get(f.key)
                      }));
  }
}
