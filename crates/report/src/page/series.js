// The series: three quantities over one axis of time, re-read at every zoom.

const LABELS = { latency: 'latency', execution: 'execution time', period_error: 'period' };

class SeriesView {
  constructor(bytes) {
    this.bytes = bytes;
    this.element = byId('series-plot');
    this.cache = new Map();
    this.choices = allTasks();
    this.choose(0);
    this.element.addEventListener('keydown', event => this.key(event));
  }

  choose(number) {
    const { run, task } = this.choice = this.choices[number];
    Object.assign(this, { run, task, series: this.of(task), spike: -1 });
    this.whole();
  }

  // A task's series, unpacked when first asked for.
  of(task) {
    if (!this.cache.has(task)) this.cache.set(task, new TaskSeries(task, this.bytes));
    return this.cache.get(task);
  }

  whole() {
    this.from = 0;
    this.to = Math.max(this.task.length_ns, this.task.period_ns);
  }

  show(from, to) {
    const length = Math.max(this.task.length_ns, this.task.period_ns);
    const span = Math.min(Math.max(to - from, 4 * this.task.period_ns), length);
    const middle = (from + to) / 2;
    this.from = Math.max(0, Math.min(middle - span / 2, length - span));
    this.to = this.from + span;
    this.draw();
  }

  zoom(factor) {
    const middle = (this.from + this.to) / 2, half = (this.to - this.from) / 2 * factor;
    this.show(middle - half, middle + half);
  }

  move(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  // Goes to the next largest latency, close enough that every activation around it is seen.
  next() {
    this.peaks ??= new Map();
    if (!this.peaks.has(this.task)) this.peaks.set(this.task, this.series.largest(20));
    const peaks = this.peaks.get(this.task);
    if (!peaks.length) return;
    this.spike = (this.spike + 1) % peaks.length;
    const at = this.series.exact.due[peaks[this.spike]];
    this.show(at - 24 * this.task.period_ns, at + 24 * this.task.period_ns);
  }

  act(name) {
    const acts = { in: () => this.zoom(0.25), out: () => this.zoom(4), left: () => this.move(-0.5), right: () => this.move(0.5),
      all: () => { this.whole(); this.draw(); }, next: () => this.next() };
    acts[name]();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const keys = { '+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', 0: 'all', Home: 'all', n: 'next' };
    if (!(event.key in keys)) return;
    event.preventDefault();
    this.act(keys[event.key]);
  }

  draw() {
    const view = this.series.view(this.from, this.to, isNarrow() ? 300 : 700);
    const layout = { showlegend: false, shapes: [], annotations: [] };
    // The margins hold these axes and their labels; looking for better places would double the time to draw them.
    layout.xaxis = { automargin: false, ticklabeloverflow: 'allow', title: { text: 'time since the first due time, s' }, range: [this.from / 1e9, this.to / 1e9], anchor: 'y3' };
    const data = QUANTITIES.flatMap((quantity, row) => this.row(quantity, row, view, layout)).filter(({ x }) => x.length);
    this.phases(layout);
    if (!this.element.on) {
      Plotly.newPlot(this.element, data, themed(layout), { ...CONFIG, doubleClick: false });
      this.element.on('plotly_relayout', change => {
        const from = change['xaxis.range[0]'], to = change['xaxis.range[1]'];
        if (from !== undefined && to !== undefined) this.show(from * 1e9, to * 1e9);
      });
      this.element.on('plotly_doubleclick', () => this.act('all'));
    } else {
      Plotly.react(this.element, data, themed(layout), { ...CONFIG, doubleClick: false });
    }
    this.shown = view;
    this.describe(view);
  }

  // One quantity: the band of each step, its mean, the exact activations, and the whole run's mean and deviation.
  row(quantity, row, view, layout) {
    const colour = palette()[row], level = this.series.levels[view.level];
    const shift = quantity === 'period_error' ? this.task.period_ns : 0;
    const figures = summaryOf(this.run, this.task)[quantity];
    const { min, mean, max } = level[quantity];
    const single = this.task.complete && view.level === 0;
    let low = Infinity, high = -Infinity;
    for (let i = view.first; i < view.last; i++) {
      if (min[i] < low) low = min[i];
      if (max[i] > high) high = max[i];
    }
    if (!(low <= high)) [low, high] = [0, 1];
    const { place, axis } = timeAxis(byId('series-scale').value, low + shift, high + shift, LABELS[quantity]);
    const suffix = row ? row + 1 : '', yaxis = 'y' + suffix;
    layout['yaxis' + suffix] = { ...axis, automargin: false, domain: [1 - (row + 1) / 3 + 0.035, 1 - row / 3 - 0.015], ticklabeloverflow: 'allow', fixedrange: true, nticks: 6 };
    const data = [];
    if (!single) {
      const x = [], lower = [], upper = [], middle = [], text = [];
      for (let i = view.first; i < view.last; i++) {
        const end = i + 1 < level.due.length ? level.due[i + 1] : Math.max(this.task.length_ns, level.due[i]);
        const at = [level.due[i] / 1e9, end / 1e9];
        const words = `${grouped(level.executed[i])} activations from ${at[0]} s<br>largest ${exactTime(max[i] + shift)}` +
          `<br>mean ${time(mean[i] + shift, 6)}<br>smallest ${exactTime(min[i] + shift)}`;
        x.push(...at);
        for (let twice = 0; twice < 2; twice++) {
          lower.push(place(min[i] + shift)); upper.push(place(max[i] + shift)); middle.push(place(mean[i] + shift)); text.push(words);
        }
      }
      const line = { color: colour, width: 1 };
      data.push({ x, y: lower, yaxis, mode: 'lines', line, hoverinfo: 'skip' },
        { x, y: upper, yaxis, mode: 'lines', line, fill: 'tonexty', fillcolor: faded(colour, 0.3), text, hoverinfo: 'text' },
        { x, y: middle, yaxis, mode: 'lines', line: { color: css('--ink'), width: 1 }, hoverinfo: 'skip' });
    }
    data.push(this.dots(quantity, view, place, shift, colour, yaxis), this.missed(quantity, view, place, shift, yaxis));
    if (figures.mean_ns !== null) {
      const level = ns => place(ns + shift), wide = { xref: 'paper', x0: 0, x1: 1, yref: yaxis, layer: 'below' };
      const top = Math.min(figures.mean_ns + figures.sd_ns, high), bottom = Math.max(figures.mean_ns - figures.sd_ns, low);
      layout.shapes.push({ type: 'line', ...wide, y0: level(figures.mean_ns), y1: level(figures.mean_ns), line: { color: css('--soft'), width: 1, dash: 'dash' } });
      if (bottom < top) layout.shapes.push({ type: 'rect', ...wide, y0: level(bottom), y1: level(top), fillcolor: faded(css('--soft'), 0.15), line: { width: 0 } });
    }
    return data;
  }

  dots(quantity, view, place, shift, colour, yaxis) {
    const { exact } = this.series, x = [], y = [], text = [];
    for (let i = view.start; i < view.end; i++) {
      if (i > view.start && exact.index[i] - exact.index[i - 1] > 1 + exact.missed[i - 1]) { x.push(null); y.push(null); text.push(''); }
      const value = exact[quantity][i] + shift;
      x.push(exact.due[i] / 1e9);
      y.push(Number.isNaN(value) ? null : place(value));
      text.push(`activation ${exact.index[i]}, due ${exact.due[i] / 1e9} s<br>${LABELS[quantity]} ${exactTime(value)}`);
    }
    return { x, y, text, yaxis, hoverinfo: 'text', mode: x.length > 200 ? 'markers' : 'lines+markers', connectgaps: false,
      marker: { color: colour, size: x.length > 400 ? 3 : 6 }, line: { color: colour, width: 1 } };
  }

  missed(quantity, view, place, shift, yaxis) {
    const level = this.series.levels[view.level], x = [], y = [], text = [];
    for (let i = view.first; i < view.last && quantity === 'latency'; i++) {
      if (!(level.missed[i] > 0)) continue;
      x.push(level.due[i] / 1e9);
      y.push(place(level[quantity].max[i] + shift));
      text.push(`${grouped(level.missed[i])} missed from ${level.due[i] / 1e9} s`);
    }
    return { x, y, text, yaxis, hoverinfo: 'text', mode: 'markers', marker: { color: css('--alarm'), symbol: 'x', size: 9 } };
  }

  phases(layout) {
    for (const { text, from_ns } of this.run.phases) {
      layout.shapes.push({ type: 'line', xref: 'x', yref: 'paper', x0: from_ns / 1e9, x1: from_ns / 1e9, y0: 0, y1: 1, line: { color: css('--alarm'), dash: 'dot' } });
      layout.annotations.push({ xref: 'x', yref: 'paper', x: from_ns / 1e9, y: 1, text: plain(text), showarrow: false, xanchor: 'left', xshift: 3, yanchor: 'top' });
    }
  }

  describe(view) {
    const { task, series } = this, level = series.levels[view.level];
    let executed = 0, largest = -Infinity;
    for (let i = view.first; i < view.last; i++) {
      executed = Math.max(executed, level.executed[i]);
      if (level.latency.max[i] > largest) largest = level.latency.max[i];
    }
    const shown = `${time(this.from, 9)} to ${time(this.to, 9)}: `;
    let words;
    if (task.complete && view.level === 0) {
      words = 'every activation, exact.';
    } else {
      words = `each step is the smallest, mean and largest value of ${grouped(executed)} activations`;
      if (view.end > view.start) words += `; ${grouped(view.end - view.start)} activations of this stretch are shown exactly, as dots`;
      else if (view.hidden) words += '; zoom in to see single activations';
      else words += '; of this stretch the page holds no single activations';
      words += '.';
    }
    byId('series-status').textContent = `${shown}${words} Largest latency here: ${exactTime(largest)}.`;
    const resolution = task.complete ? 'The page holds every activation of this task.'
      : `The page holds ${task.spikes_only ? 'every second' : 'every ' + grouped(task.per_step) + ' activations'} as smallest, mean and largest value, ` +
        `and ${grouped(task.exact.due.count)} activations around the largest values exactly.`;
    byId('series-caption').textContent = captionOf('latency', [this.choice]) + ' ' + resolution +
      ' Thin line: mean of the step; dashed line and grey band: mean and standard deviation of the whole run; red cross: missed due times.';
  }
}
