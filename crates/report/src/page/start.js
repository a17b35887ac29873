// Unpacks the data, wires the controls, draws.

const plots = JSON.parse(byId('plots').textContent);
const documents = JSON.parse(byId('documents').textContent);

function offer(select, options) {
  for (const [value, text] of options) select.add(new Option(text, value));
}

function download(name, type, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const cell = value => /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? '');
const csv = rows => rows.map(row => row.map(cell).join(',')).join('\n') + '\n';

function summaryCsv() {
  const percentiles = Object.keys(documents[0]?.tasks[0]?.summary.latency.percentiles ?? {});
  const bound = value => value?.at_least === undefined ? value : `${value.at_least}..${value.at_most ?? ''}`;
  const rows = [['run', 'task', 'quantity', 'count', 'min_ns', 'mean_ns', 'sd_ns', ...percentiles.map(name => `${name}_ns`), 'max_ns']];
  plots.runs.forEach((run, r) => documents[r].tasks.forEach(({ summary }) => {
    for (const quantity of Object.keys(NAMES)) {
      const { count, min_ns, mean_ns, sd_ns, max_ns, percentiles: of } = summary[quantity];
      rows.push([run.label, summary.task, quantity, count, min_ns, mean_ns, sd_ns, ...percentiles.map(name => bound(of[name])), max_ns]);
    }
  }));
  return csv(rows);
}

function seriesCsv(view) {
  const rows = [['run', 'task', 'due_ns', 'executed', 'missed', ...QUANTITIES.flatMap(q => [`${q}_min_ns`, `${q}_mean_ns`, `${q}_max_ns`])]];
  for (const { run, task } of allTasks()) {
    const level = view.of(task).levels[0];
    for (let i = 0; i < level.due.length; i++) {
      rows.push([run.label, task.name, level.due[i], level.executed[i], level.missed[i],
        ...QUANTITIES.flatMap(q => ['min', 'mean', 'max'].map(side => Number.isNaN(level[q][side][i]) ? '' : level[q][side][i]))]);
    }
  }
  return csv(rows);
}

function exactCsv(view) {
  const rows = [['run', 'task', 'index', 'due_ns', 'missed', ...QUANTITIES.map(q => `${q}_ns`)]];
  for (const { run, task } of allTasks()) {
    const { exact } = view.of(task);
    for (let i = 0; i < exact.due.length; i++) {
      rows.push([run.label, task.name, exact.index[i], exact.due[i], exact.missed[i], ...QUANTITIES.map(q => Number.isNaN(exact[q][i]) ? '' : exact[q][i])]);
    }
  }
  return csv(rows);
}

function wire(view) {
  offer(byId('series-task'), view.choices.map(({ name }, i) => [i, name]));
  byId('series-task').addEventListener('change', event => { view.choose(Number(event.target.value)); view.draw(); });
  byId('series-scale').addEventListener('change', () => view.draw());
  document.querySelectorAll('[data-act]').forEach(button => button.addEventListener('click', () => view.act(button.dataset.act)));
  for (const [figure, draw] of [['histogram', drawHistogram], ['percentiles', drawPercentiles]]) {
    offer(byId(figure + '-quantity'), Object.entries(NAMES).filter(([q]) => allTasks().some(({ task }) => task.bins[q].length)));
    byId(figure + '-quantity').addEventListener('change', draw);
    byId(figure + '-scale').addEventListener('change', draw);
  }
  // A few large values would press all others into one line.
  const far = allTasks().some(({ run, task }) => { const { percentiles, max_ns } = summaryOf(run, task).latency, median = percentiles['p50']; return max_ns > 30 * Math.abs(Number.isFinite(median) ? median : max_ns); });
  if (far) byId('histogram-scale').value = 'log';
  byId('histogram-counts').addEventListener('change', drawHistogram);
  const contents = { json: () => ['json', 'application/json', JSON.stringify(documents, null, 2)], summary: () => ['csv', 'text/csv', summaryCsv()],
    series: () => ['csv', 'text/csv', seriesCsv(view)], exact: () => ['csv', 'text/csv', exactCsv(view)] };
  document.querySelectorAll('[data-download]').forEach(button => button.addEventListener('click', () => {
    const [extension, type, text] = contents[button.dataset.download]();
    download(`jitterlab-${button.dataset.download}.${extension}`, type, text);
  }));
}

// Resolves once what was drawn is on the screen.
const painted = () => new Promise(resolve => { requestAnimationFrame(() => setTimeout(resolve)); });

async function start() {
  const packed = await unzipped('packed');
  const view = plots.runs.length ? new SeriesView(packed) : null;
  if (view) wire(view);
  await library;
  if (view) {
    view.draw();
    drawn.set(view.element, { draw: () => view.draw(), seen: true });
    whenSeen(byId('histogram-plot'), drawHistogram);
    whenSeen(byId('percentiles-plot'), drawPercentiles);
  }
  for (const figure of plots.figures) whenSeen(byId('figure-' + figure.id), () => drawFigure(figure));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redrawAll(false));
  matchMedia('print').addEventListener('change', () => redrawAll(true));
  addEventListener('beforeprint', () => redrawAll(true));
  addEventListener('afterprint', () => redrawAll(false));
  await painted();
  // For whoever examines the page by script.
  window.jitterlab = { view, plots, documents, readyAfterMs: performance.now() };
  document.documentElement.dataset.ready = 'yes';
}

start().catch(error => {
  const trouble = byId('trouble');
  trouble.hidden = false;
  trouble.textContent = `The figures could not be drawn: ${error.message}. They need a browser of 2023 or later.`;
  throw error;
});
