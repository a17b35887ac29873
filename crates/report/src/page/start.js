// Unpacks the data, draws what is seen, offers the numbers.

const documents = JSON.parse(byId('documents').textContent);
let page, columns;

// Draws a figure once it comes near the screen.
function whenSeen(figure) {
  const watcher = new IntersectionObserver(entries => {
    if (!entries.some(entry => entry.isIntersecting)) return;
    watcher.disconnect();
    figure.seen = true;
    figure.draw();
  }, { rootMargin: '300px' });
  watcher.observe(figure.element);
  new ResizeObserver(() => { if (figure.seen) figure.draw(); }).observe(figure.place);
}

function download(name, type, text) {
  const link = make('a', { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const cell = value => /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? '');
const csv = rows => rows.map(row => row.map(cell).join(',')).join('\n') + '\n';
const allTasks = () => page.runs.flatMap((run, r) => run.tasks.map((task, t) => ({ run, task, data: new SeriesView({ run: r, task: t }).data })));

function summaryCsv() {
  const percentiles = Object.keys(documents[0]?.tasks[0]?.summary.latency.percentiles ?? {});
  const bound = value => value?.at_least === undefined ? value : `${value.at_least}..${value.at_most ?? ''}`;
  const rows = [['run', 'task', 'quantity', 'count', 'min_ns', 'mean_ns', 'sd_ns', ...percentiles.map(name => `${name}_ns`), 'max_ns']];
  page.runs.forEach((run, r) => documents[r].tasks.forEach(({ summary }) => {
    for (const quantity of Object.keys(summary).filter(key => summary[key]?.percentiles)) {
      const { count, min_ns, mean_ns, sd_ns, max_ns, percentiles: of } = summary[quantity];
      rows.push([run.label, summary.task, quantity, count, min_ns, mean_ns, sd_ns, ...percentiles.map(name => bound(of[name])), max_ns]);
    }
  }));
  return csv(rows);
}

function seriesCsv() {
  const rows = [['run', 'task', 'due_ns', 'executed', 'missed', ...QUANTITIES.flatMap(q => [`${q}_min_ns`, `${q}_mean_ns`, `${q}_max_ns`])]];
  for (const { run, task, data: { levels: [level] } } of allTasks()) {
    for (let i = 0; i < level.due.length; i++) {
      rows.push([run.label, task.name, level.due[i], level.executed[i], level.missed[i],
        ...QUANTITIES.flatMap(q => ['min', 'mean', 'max'].map(side => Number.isNaN(level[q][side][i]) ? '' : level[q][side][i]))]);
    }
  }
  return csv(rows);
}

function exactCsv() {
  const rows = [['run', 'task', 'index', 'due_ns', 'missed', ...QUANTITIES.map(q => `${q}_ns`)]];
  for (const { run, task, data: { exact } } of allTasks()) {
    for (let i = 0; i < exact.due.length; i++) {
      rows.push([run.label, task.name, exact.index[i], exact.due[i], exact.missed[i], ...QUANTITIES.map(q => Number.isNaN(exact[q][i]) ? '' : exact[q][i])]);
    }
  }
  return csv(rows);
}

function offerNumbers() {
  const contents = { json: () => ['json', 'application/json', JSON.stringify(documents, null, 2)], summary: () => ['csv', 'text/csv', summaryCsv()],
    series: () => ['csv', 'text/csv', seriesCsv()], exact: () => ['csv', 'text/csv', exactCsv()] };
  document.querySelectorAll('[data-download]').forEach(button => button.addEventListener('click', () => {
    const [extension, type, text] = contents[button.dataset.download]();
    download(`jitterlab-${button.dataset.download}.${extension}`, type, text);
  }));
}

// What an address leads to is unfolded.
function reveal() {
  const place = location.hash ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  const folded = place?.closest('details:not([open])') ?? place?.querySelector(':scope > details:not([open])');
  if (folded) { folded.open = true; place.scrollIntoView(); }
}

// Resolves once what was drawn is on the screen.
const painted = () => new Promise(resolve => { requestAnimationFrame(() => setTimeout(resolve)); });

async function start() {
  const unpacking = unzipped('columns');
  page = JSON.parse(new TextDecoder().decode(await unzipped('charts')));
  const figures = page.figures.map(figure => new Figure(figure));
  const redraw = () => figures.filter(figure => figure.seen).forEach(figure => figure.draw());
  figures.forEach(whenSeen);
  const section = ({ id }) => id.replace(/-\d+$/, '');
  for (const figure of figures) figure.open = point => figures.some(other => section(other) === section(figure) && other.openAt(point));
  // What most people came for is there, and can be looked at closely, before they scroll to it.
  const series = figures.find(figure => figure.series);
  const draw = () => { if (series) { series.seen = true; series.draw(); } };
  draw();
  columns = await unpacking;
  draw();
  offerNumbers();
  reveal();
  addEventListener('hashchange', reveal);
  for (const media of ['(prefers-color-scheme: dark)', 'print']) matchMedia(media).addEventListener('change', redraw);
  for (const event of ['beforeprint', 'afterprint']) addEventListener(event, redraw);
  await painted();
  // For whoever examines the page by script.
  window.jitterlab = { figures, page, documents, readyAfterMs: performance.now() };
  document.documentElement.dataset.ready = 'yes';
}

start().catch(error => {
  const trouble = byId('trouble');
  trouble.hidden = false;
  trouble.textContent = `The figures could not be drawn: ${error.message}. They need a browser of 2023 or later.`;
  throw error;
});
