// What all figures share: colours of the moment, axes of time, drawing when seen.

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const palette = () => [0, 1, 2, 3, 4, 5].map(i => css('--c' + i));
const faded = (colour, share) => colour + Math.round(share * 255).toString(16).padStart(2, '0');
const isNarrow = () => window.innerWidth < 600;

const UNITS = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];

// The unit in which a time of this size has one to three digits before the point.
function unitFor(ns) {
  const size = Math.abs(ns);
  let unit = UNITS[0];
  for (const candidate of UNITS) if (size >= 2 * candidate[0]) unit = candidate;
  return unit;
}

function time(ns, digits = 4) {
  if (!Number.isFinite(ns)) return 'none';
  const [scale, unit] = unitFor(2 * ns);
  return `${Number((ns / scale).toPrecision(digits))} ${unit}`;
}

// A power of ten of nanoseconds: 10 µs, 1 ms.
const decade = power => {
  const unit = Math.min(Math.floor(power / 3), 3);
  return `${10 ** (power - 3 * unit)} ${UNITS[unit][1]}`;
};

const exactTime = ns => {
  const [scale, unit] = unitFor(2 * ns);
  return `${ns / scale} ${unit}`;
};

const grouped = count => String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');

// Logarithmic with a sign: what lies below 1 ns to either side is squeezed around zero, nothing is left out.
const signedLog = ns => Math.sign(ns) * Math.log10(1 + Math.abs(ns));

// An axis for times: how values are placed on it, and its plotly settings.
function timeAxis(scale, low, high, title) {
  if (scale === 'log') {
    const tickvals = [], ticktext = [], minor = [];
    for (const sign of [-1, 1]) {
      for (let power = 0; power <= 18; power++) {
        const value = sign * 10 ** power;
        if (value < low * (low < 0 ? 10 : 0.1) || value > high * (high < 0 ? 0.1 : 10)) continue;
        tickvals.push(signedLog(value));
        ticktext.push((sign < 0 ? '−' : '') + decade(power));
        for (let part = 2; part < 10; part++) minor.push(signedLog(part * value));
      }
    }
    if (low <= 0 && high >= 0) { tickvals.push(0); ticktext.push('0'); }
    const span = signedLog(high) - signedLog(low);
    if (span < 1) {
      for (const share of [0, 0.25, 0.5, 0.75, 1]) {
        const place = signedLog(low) + share * span;
        const value = Math.sign(place) * (10 ** Math.abs(place) - 1);
        if (tickvals.every(tick => Math.abs(tick - place) > span / 6)) { tickvals.push(place); ticktext.push(time(value, 3)); }
      }
    }
    return { place: signedLog, axis: { title: { text: title }, tickmode: 'array', tickvals, ticktext,
      minor: { tickmode: 'array', tickvals: minor, ticks: 'outside', ticklen: 3, showgrid: false } } };
  }
  const [divisor, unit] = unitFor(Math.max(Math.abs(low), Math.abs(high)));
  return { place: ns => ns / divisor, axis: { title: { text: `${title}, ${unit}` } } };
}

function baseLayout() {
  const axis = { gridcolor: css('--line'), zerolinecolor: css('--line'), linecolor: css('--soft'), automargin: true,
    ticks: 'outside', tickcolor: css('--line'), exponentformat: 'none', separatethousands: true };
  return {
    paper_bgcolor: css('--paper'), plot_bgcolor: css('--paper'), colorway: palette(),
    font: { color: css('--ink'), family: 'system-ui, sans-serif', size: isNarrow() ? 11 : 13 },
    margin: isNarrow() ? { l: 56, r: 8, t: 12, b: 44 } : { l: 72, r: 16, t: 16, b: 52 },
    hoverlabel: { bgcolor: css('--tint'), bordercolor: css('--soft'), font: { color: css('--ink') } },
    // A finger scrolls the page; a mouse zooms.
    dragmode: matchMedia('(pointer: coarse)').matches ? false : 'zoom', hovermode: 'closest', separators: '.\u202f',
    ...(onPaper() ? { width: PAPER_WIDTH } : { autosize: true }),
    legend: { orientation: 'h', y: 1.02, yanchor: 'bottom', x: 0 },
    xaxis: { ...axis }, yaxis: { ...axis }, axis,
  };
}

const CONFIG = { displayModeBar: false, responsive: true, doubleClick: 'reset' };
const onPaper = () => matchMedia('print').matches;
// A4 and Letter leave so many CSS pixels between their margins.
const PAPER_WIDTH = 690;

// Layout for one figure: the page's colours under the figure's own settings, axis by axis.
function themed(layout) {
  const { axis, ...base } = baseLayout();
  const merged = { ...base, ...layout };
  for (const key of new Set(['xaxis', 'yaxis', ...Object.keys(layout)])) {
    if (!/^[xy]axis\d*$/.test(key)) continue;
    merged[key] = { ...axis, ...layout[key] };
    if (key[0] === 'y' && merged[key].title) merged[key].title = { standoff: 8, ...merged[key].title };
  }
  return merged;
}

// A trace with the palette's colours in place of c0 to c5.
function coloured(value) {
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v)]));
  const name = typeof value === 'string' && /^c([0-5])(~)?$/.exec(value);
  return name ? faded(palette()[name[1]], name[2] ? 0.25 : 1) : value;
}

const drawn = new Map();

// Draws a figure once it comes near the screen, and again when colours or size change.
function whenSeen(element, draw) {
  drawn.set(element, { draw, seen: false });
  const watcher = new IntersectionObserver(entries => {
    if (entries.some(entry => entry.isIntersecting)) {
      watcher.disconnect();
      redraw(element);
    }
  }, { rootMargin: '200px' });
  watcher.observe(element);
}

function redraw(element) {
  const figure = drawn.get(element);
  figure.seen = true;
  figure.draw();
}

const redrawAll = always => drawn.forEach((figure, element) => { if (figure.seen || always) redraw(element); });

const NAMES = { latency: 'latency', corrected_latency: 'corrected latency', execution: 'execution time',
  period_error: 'period error', cycle_to_cycle: 'cycle-to-cycle difference' };

// Plotly takes text for a kind of HTML; names of tasks and files are not.
const plain = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const taskName = (run, task) => plots.runs.length > 1 ? `${run.label}: ${task.name}` : task.name;
const allTasks = () => plots.runs.flatMap(run => run.tasks.map(task => ({ run, task, name: taskName(run, task) })));
const countOf = bins => bins.reduce((sum, bin) => sum + bin[2], 0);

function captionOf(quantity, tasks = allTasks()) {
  const parts = tasks.map(({ task, name }) => `${name}: n = ${grouped(countOf(task.bins[quantity]))}, ${NAMES[quantity]} of ${task.conditions}`);
  return parts.join('; ') + '.';
}

function summaryOf(run, task) {
  const document = documents[plots.runs.indexOf(run)];
  return document.tasks[run.tasks.indexOf(task)].summary;
}

// Neighbouring bins joined until each is `width` wide in the places of the axis.
function bars(bins, place, width) {
  const groups = [];
  for (const [low, high, count] of bins) {
    const last = groups.at(-1);
    if (last && place(high + 1) - place(last.low) <= width) {
      last.high = high;
      last.count += count;
    } else {
      groups.push({ low, high, count });
    }
  }
  return groups;
}

// Frames around the clusters, with their words above the plot: in as many rows as there are, so that none overlap.
function boxes(clusters, place, layout) {
  const low = place(clusters[0]?.[0] ?? 0), high = place((clusters.at(-1)?.[1] ?? 0) + 1);
  layout.shapes = clusters.map(([from, to]) => ({ type: 'rect', xref: 'x', yref: 'paper', x0: place(from), x1: place(to + 1), y0: 0, y1: 1,
    line: { color: palette()[1], width: 1, dash: 'dash' } }));
  layout.annotations = clusters.map(([from, to, words], i) => {
    const middle = (place(from) + place(to + 1)) / 2, share = (middle - low) / (high - low);
    return { xref: 'x', yref: 'paper', x: middle, xanchor: share < 0.2 ? 'left' : share > 0.8 ? 'right' : 'center', y: 1, yanchor: 'bottom',
      yshift: (clusters.length - 1 - i) * 16, text: plain(words), showarrow: false, font: { color: palette()[1], size: 11 } };
  });
  layout.margin = { ...layout.margin, t: layout.margin.t + 16 * clusters.length };
}

function drawHistogram() {
  const quantity = byId('histogram-quantity').value, scale = byId('histogram-scale').value;
  const counts = byId('histogram-counts').value;
  const series = allTasks().filter(({ task }) => task.bins[quantity].length);
  const low = Math.min(...series.map(({ task }) => task.bins[quantity][0][0]));
  const high = Math.max(...series.map(({ task }) => task.bins[quantity].at(-1)[1]));
  const { place, axis } = timeAxis(scale, low, high, NAMES[quantity]);
  const width = (place(high + 1) - place(low)) / (isNarrow() ? 80 : 160);
  const colours = palette(), floor = counts === 'log' ? 0.5 : 0;
  const data = series.map(({ task, name }, i) => {
    const x = [], y = [], text = [];
    for (const { low, high, count } of bars(task.bins[quantity], place, width)) {
      const left = place(low), right = Math.max(place(high + 1), left + width / 4);
      x.push(left, left, right, right);
      y.push(floor, count, count, floor);
      const words = `${exactTime(low)} to ${exactTime(high)}: ${grouped(count)}`;
      text.push(words, words, words, words);
    }
    const colour = colours[i % colours.length];
    return { x, y, text, hoverinfo: 'text+name', name: plain(name), mode: 'lines', fill: 'tozeroy', fillcolor: faded(colour, 0.35),
      line: { color: colour, width: 1.2 } };
  });
  const yaxis = counts === 'log'
    ? { type: 'log', title: { text: 'count' }, dtick: 1, rangemode: 'normal', range: [Math.log10(0.5), Math.log10(1.5 * Math.max(...data.flatMap(trace => trace.y)))] }
    : { title: { text: 'count' }, rangemode: 'tozero' };
  const layout = themed({ xaxis: axis, yaxis, showlegend: data.length > 1 });
  if (quantity === 'latency' && series.length === 1) boxes(series[0].task.clusters, place, layout);
  Plotly.react('histogram-plot', data, layout, CONFIG);
  byId('histogram-caption').textContent = captionOf(quantity);
}

function drawPercentiles() {
  const quantity = byId('percentiles-quantity').value, scale = byId('percentiles-scale').value;
  const series = allTasks().filter(({ task }) => task.bins[quantity].length);
  const low = Math.min(...series.map(({ task }) => task.bins[quantity][0][0]));
  const high = Math.max(...series.map(({ task }) => task.bins[quantity].at(-1)[1]));
  const { place, axis } = timeAxis(scale, low, high, NAMES[quantity]);
  const colours = palette();
  let rarest = 1;
  const data = series.map(({ run, task, name }, i) => {
    const bins = task.bins[quantity], n = countOf(bins), x = [], y = [], text = [];
    const summary = summaryOf(run, task)[quantity];
    const largest = summary.max_ns;
    let below = 0;
    for (const [, high, count] of bins) {
      below += count;
      const value = Math.min(high, largest), share = Math.max(n - below, 0) / n;
      x.push(share || 1 / n);
      y.push(place(value));
      text.push(share ? `${Number((100 * (1 - share)).toPrecision(8))} % are at most ${time(value)}` : `largest of ${grouped(n)}: ${exactTime(value)}`);
    }
    rarest = Math.min(rarest, 1 / n);
    return { x, y, text, hoverinfo: 'text+name', name: plain(name), mode: 'lines', line: { color: colours[i % colours.length], shape: 'vh' } };
  });
  const tickvals = [0.5], ticktext = ['50 %'];
  for (let nines = 1; 10 ** -nines >= rarest * 0.9; nines++) {
    tickvals.push(10 ** -nines);
    ticktext.push(nines === 1 ? '90 %' : nines === 2 ? '99 %' : `99.${'9'.repeat(nines - 2)} %`);
  }
  const xaxis = { type: 'log', range: [0.02, Math.log10(rarest) - 0.1], tickmode: 'array', tickvals, ticktext,
    tickangle: isNarrow() ? -60 : 'auto', title: { text: 'share of values that are not above', standoff: 12 } };
  Plotly.react('percentiles-plot', data, themed({ xaxis, yaxis: axis, showlegend: data.length > 1 }), CONFIG);
  byId('percentiles-caption').textContent = captionOf(quantity) + ' The curve of n values ends at 1 − 1/n.';
}

function drawFigure({ id, data, layout }) {
  const { head, ...own } = coloured(layout), whole = themed(own);
  if (head) {
    // The words above the plot need room, and the legend another place.
    whole.margin = { ...whole.margin, t: whole.margin.t + head };
    whole.legend = { ...whole.legend, y: -0.2, yanchor: 'top' };
  }
  Plotly.react('figure-' + id, coloured(data), whole, CONFIG);
}
