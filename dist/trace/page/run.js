// The report of one training run: reads the numbers the page carries, and lays out the sections.

function facts(run) {
  const last = run.validation.at(-1), mean = run.ranks[0].mean,
        degrees = ['dp', 'tp', 'pp', 'cp', 'ep'].filter(axis => run.layout[axis] > 1);
  const tokens = run.steps.length ? run.steps.at(-1).tokens : 0;
  const pairs = [
    ['Layout', degrees.length ? degrees.map(axis => `${axis} = ${run.layout[axis]}`).join(', ') : 'one rank'],
    [
      'Parameters',
      whole(run.config.parameters ?? run.ranks.reduce((most, rank) => Math.max(most, rank.parameters), 0))
    ],
    ['Batch', `${whole(run.config.batch)} sequences, ${whole(tokens)} tokens`],
    ['Threads per rank', whole(run.config.threads)], ['Validation loss', last ? fixed(last.loss, 4) : 'none'],
    ['Mean step', seconds(mean.step_s)], ['Speed', `${whole(tokens / mean.step_s)} tokens/s`],
    ['MFU', `${percent(run.mfu)} of ${flops(run.peak_gemm_flops)}`]
  ];
  return html(
      'dl', {class: 'facts'},
      pairs.map(([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value))));
}

function show({run, layout, trace}) {
  const model = run.config.model, ranks = run.ranks.length;
  const sections = [['Loss', () => lossSection(run)], ['Where a step goes', () => stepSection(run)]];
  if (run.layout.dp > 1 && run.layout.dp === ranks)
    sections.push(['Compute-bound or bandwidth-bound?', () => boundSection(run)]);
  if (trace.traceEvents.length) sections.push(['Timeline', () => timelineSection(trace)]);
  if (run.comm.length) sections.push(['Communication', () => commSection(run)]);
  sections.push(['Memory', () => memorySection(run)], ['Layout', () => layoutSection(run, layout)]);

  const main = document.getElementById('content'),
        id = title => title.toLowerCase().replace(/[^a-z]+/g, '-').replace(/-$/, '');
  main.append(
      html('h1', {}, document.title),
      html(
          'p', {class: 'lead'},
          `${whole(run.steps.length)} steps of ${model.name}: ${model.layers} layers of width ${model.dim}, ${
              model.heads} heads, context ${model.context}, in ${run.config.dtype}.`),
      facts(run),
      html(
          'nav', {'aria-label': 'Sections'},
          html(
              'ol', {},
              sections.map(([title]) => html('li', {}, html('a', {href: `#${id(title)}`}, title))))));
  for (const [title, content] of sections)
    main.append(
        html('section', {'aria-labelledby': id(title)}, html('h2', {id: id(title)}, title), ...content()));
}

// On paper nothing unfolds.
window.addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => {
  d.open = true;
}));
show(JSON.parse(document.getElementById('data').textContent));
