// The sections of a training run's report, each a picture, a sentence that says how to read it, and its
// numbers.

const partNames = {
  compute: 'compute',
  exposed_comm: 'exposed communication',
  wait: 'waiting for a slower rank',
  bubble: 'pipeline bubble',
  optimizer: 'optimizer',
  data: 'data',
  other: 'other'
};
const categories = ['parameter', 'gradient', 'optimizer', 'activation', 'communication', 'scratch'];
const rankName = rank => `rank ${rank.rank}`;

function lossSection(run) {
  const series = [
    {part: 'compute', name: 'training, each step\'s batch', points: run.steps.map(s => [s.step, s.loss])}, {
      part: 'exposed_comm',
      name: 'validation',
      shape: 'dot',
      dots: true,
      points: run.validation.map(v => [v.step, v.loss])
    }
  ];
  const columns = [
    {name: 'step', of: s => whole(s.step)}, {name: 'loss', of: s => fixed(s.loss, 4)},
    {name: 'gradient norm', of: s => short(s.grad_norm)},
    {name: 'learning rate', of: s => s.lr.toExponential(2)},
    {name: 'step, ms', of: s => milliseconds(s.step_s)}, {name: 'tokens/s', of: s => whole(s.tokens_per_s)}
  ];
  const held = [
    {name: 'updates', of: v => whole(v.step)}, {name: 'validation loss', of: v => fixed(v.loss, 4)},
    {name: 'bits', of: v => fixed(v.loss / Math.LN2, 4)}
  ];
  return [
    figure(
        'Loss in nats per token against updates done.', legend(series),
        lines('Loss against steps', series, 'updates').picture),
    table('Loss on held-out text', held, run.validation),
    folded(`All ${run.steps.length} steps as a table`, table('Steps', columns, run.steps))
  ];
}

function stepSection(run) {
  const parts =
      Object.keys(partNames).filter(part => run.ranks.some(rank => (rank.mean[`${part}_s`] ?? 0) > 0));
  const rows = run.ranks.map(
      rank => ({
        name: rankName(rank),
        parts: parts.map(part => {
          const value = rank.mean[`${part}_s`];
          return {part, value, title: `${rankName(rank)}, ${partNames[part]}: ${seconds(value)}`};
        })
      }));
  const columns = [
    {name: 'rank', of: r => r.rank}, {name: 'step, ms', of: r => milliseconds(r.mean.step_s)},
    ...parts.map(part => ({name: partNames[part], of: r => milliseconds(r.mean[`${part}_s`])})),
    {name: 'hidden communication', of: r => milliseconds(r.mean.hidden_comm_s)}
  ];
  return [
    figure(
        'A mean step of each rank. Exposed communication is what the rank had nothing else to do for; hidden communication went on beneath other parts and adds nothing.',
        legend(parts.map(part => ({part, name: partNames[part]}))),
        bars('Parts of a step, stacked, for each rank', rows, seconds).picture),
    table('A mean step, in milliseconds', columns, run.ranks)
  ];
}

/**
 * What bounds a data-parallel step at other batches, from this run's compute per sequence and its time in
 * flight.
 */
function boundOf(run) {
  const mean = run.ranks[0].mean, sequences = run.config.batch / run.layout.dp;
  const inFlight = mean.exposed_comm_s + mean.hidden_comm_s, perSequence = mean.compute_s / sequences;
  return {sequences, inFlight, perSequence, crossover: inFlight / perSequence};
}

function boundSection(run) {
  const {sequences, inFlight, perSequence, crossover} = boundOf(run);
  const verdict = b => perSequence * b >= inFlight ? 'compute-bound' : 'bandwidth-bound';
  const batches = [...new Set([1, 2, 4, 8, 16, sequences].sort((a, b) => a - b))];
  const columns = [
    {name: 'sequences per rank', of: b => short(b)},
    {name: 'compute, ms', of: b => milliseconds(perSequence * b)},
    {name: 'communication in flight, ms', of: () => milliseconds(inFlight)},
    {name: 'communication over compute', of: b => fixed(inFlight / (perSequence * b), 2)},
    {name: 'bound', of: verdict, text: true}
  ];
  return [
    html(
        'p', {},
        `This run is ${verdict(sequences)} on rank 0: at ${
            short(sequences)} sequences per rank, compute takes ${
            seconds(
                perSequence * sequences)} of a step and gradients are in flight for ${seconds(inFlight)}. ` +
            `Compute grows with the batch and a gradient does not, so with this model and this link the two meet at ${
                short(crossover)} sequences per rank.`),
    table(
        'Compute and communication at other batches: compute in proportion to the sequences, communication as in this run (marked)',
        columns, batches, b => b === sequences)
  ];
}

function timelineSection(trace) {
  const timeline = new Timeline(trace.traceEvents);
  const names = [
    ['compute', 'compute'], ['optimizer', 'optimizer'], ['data', 'data'],
    ['exposed_comm', 'exposed communication'], ['wait', 'waiting'], ['hidden_comm', 'operation under way']
  ];
  return [
    figure(
        'Each rank\'s band has what it was busy with and, thin, the operations under way beneath. Lines lead from a message\'s sending to its arrival, where few enough are in view. ' +
            'Keys, once the timeline has the focus: left and right move, + and − zoom, N and P go from step to step, 0 shows all. The wheel zooms with Shift or Ctrl held.',
        legend(names.map(([part, name]) => ({part, name}))), timeline.element()),
    timeline.numbers
  ];
}

function commSection(run) {
  const name = c => c.purpose ? `${c.axis} ${c.purpose}` : c.axis, axes = [...new Set(run.comm.map(name))];
  const rows = axes.map(
      axis => ({
        name: axis,
        parts:
            run.comm.filter(c => name(c) === axis).map(c => ({
                                                         part: c.axis === 'world' ? 'other' : 'exposed_comm',
                                                         value: c.bytes,
                                                         title: `${c.op} (${c.algorithm}): ${bytes(c.bytes)}`
                                                       }))
      }));
  const columns = [
    {name: 'operation', of: c => c.op, text: true}, {name: 'axis', of: name, text: true},
    {name: 'algorithm', of: c => c.algorithm, text: true}, {name: 'calls', of: c => whole(c.calls)},
    {name: 'messages', of: c => whole(c.messages)}, {name: 'sent', of: c => bytes(c.bytes)},
    {name: 'took', of: c => seconds(c.seconds)},
    {name: 'predicted', of: c => c.predicted_s > 0 ? seconds(c.predicted_s) : ''},
    {name: 'bus bandwidth', of: c => c.busbw > 0 ? perSecond(c.busbw) : ''}
  ];
  return [
    figure(
        'Bytes that rank 0 sent along each axis of the layout in the whole run.',
        bars('Bytes sent along each axis', rows, bytes, 1024).picture),
    table('Rank 0\'s operations, over the whole run', columns, run.comm)
  ];
}

function memorySection(run) {
  const used = categories.filter(c => run.ranks.some(rank => rank.peak_bytes[c] > 0));
  const rows = used.map(category => ({
                          name: category,
                          marker: run.ranks[0].formula_bytes?.[category],
                          parts: [{
                            part: category,
                            value: run.ranks[0].peak_bytes[category],
                            title: `${category}: ${bytes(run.ranks[0].peak_bytes[category])}`
                          }]
                        }));
  const columns = [
    {name: 'rank', of: r => r.rank}, ...used.map(c => ({name: c, of: r => bytes(r.peak_bytes[c])})),
    {name: 'whole process', of: r => bytes(r.peak_rss_bytes)}
  ];
  const formula = run.ranks[0].formula_bytes ?? {};
  const against = [
    {name: 'category', of: c => c, text: true}, {name: 'peak', of: c => bytes(run.ranks[0].peak_bytes[c])},
    {name: 'formula', of: c => c in formula ? bytes(formula[c]) : ''}, {
      name: 'peak over formula',
      of: c => formula[c] > 0 ? fixed(run.ranks[0].peak_bytes[c] / formula[c], 3) : ''
    }
  ];
  return [
    figure(
        'Peak bytes of tensors on rank 0, by what they are for. A black mark is what the formula says. Categories peak at different moments, so they do not add up to the peak of all.',
        legend([{part: '', name: 'by the formula', shape: 'mark'}]),
        bars('Peak bytes on rank 0 by category', rows, bytes, 1024).picture),
    table('Rank 0 against the formula', against, used), table('Peak bytes on each rank', columns, run.ranks)
  ];
}

function layoutSection(run, layout) {
  const outerToInner = ['pp', 'dp', 'replicate', 'shard', 'cp', 'tp', 'ep', 'edp'];
  const axes = outerToInner.filter(axis => axis in (run.ranks[0].coords ?? {}));
  const place = [
    {name: 'rank', of: r => r.rank}, {name: 'node', of: r => r.node, text: true},
    ...axes.map(axis => ({name: axis, of: r => r.coords[axis]})),
    {name: 'parameters', of: r => whole(r.parameters)}
  ];
  const held = [
    {name: 'parameter', of: p => p.name, text: true}, {name: 'module', of: p => p.module, text: true},
    {name: 'shape', of: p => p.shape, text: true}, {name: 'uses', of: p => p.uses, text: true},
    {name: 'owns', of: p => p.owns, text: true}, {name: 'placement', of: p => p.placement, text: true}
  ];
  return [
    table('Where each rank is', place, run.ranks),
    folded(
        `All ${layout.parameters.length} parameters as rank 0 holds them`,
        table('What rank 0 holds', held, layout.parameters))
  ];
}
