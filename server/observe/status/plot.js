// SPDX-License-Identifier: MIT
// plot.js - one plot: a figure with a legend and an SVG, which is also a slider through time.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const DASHES = ['', '7 3', '2 3', '9 3 2 3'];
const PLOT = { height: 128, left: 56, right: 8, top: 8, bottom: 20 };

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function swatch(index) {
  const svg = shape('svg', { width: 22, height: 8, 'aria-hidden': 'true', class: 'swatch' });
  svg.append(shape('line', {
    x1: 0, x2: 22, y1: 4, y2: 4, class: 'line line' + index, 'stroke-dasharray': DASHES[index],
  }));
  return svg;
}

// definition: { title, unit (a sentence's end), format, bytes, top (of the axis, where it is fixed),
// lines: [{ label, value(columns, i) }] }. `moved(ms or null)` is called when the cursor moves.
function makePlot(definition, moved) {
  const plot = { definition, moved, cursor: null };
  const legend = element('ul', { class: 'legend' });
  plot.values = definition.lines.map((line, i) => {
    const value = element('output', {}, '–');
    legend.append(element('li', {}, swatch(i), element('span', {}, line.label), value));
    return value;
  });
  plot.svg = shape('svg', {
    class: 'plot', height: PLOT.height, tabindex: 0, role: 'slider', 'aria-valuemin': 0,
    'aria-label': definition.title + ': through time with the arrow keys',
  });
  plot.grid = shape('g', { class: 'grid' });
  plot.restarts = shape('g', { class: 'restarts' });
  plot.svg.append(plot.grid, plot.restarts);
  plot.paths = definition.lines.map((line, i) => {
    const path = shape('path', { class: 'line line' + i, 'stroke-dasharray': DASHES[i] });
    plot.svg.append(path);
    return path;
  });
  plot.line = shape('line', { class: 'cursor', y1: PLOT.top, y2: PLOT.height - PLOT.bottom });
  plot.svg.append(plot.line);
  plot.summary = element('figcaption', { class: 'hidden' });
  plot.figure = element('figure', {},
    element('div', { class: 'head' }, element('h3', {}, definition.title), legend), plot.svg,
    plot.summary);
  plot.svg.addEventListener('pointermove', (event) => {
    const box = plot.svg.getBoundingClientRect();
    const share = (event.clientX - box.left - PLOT.left) / (box.width - PLOT.left - PLOT.right);
    moved(share < 0 || share > 1 ? null : plot.from + share * (plot.to - plot.from));
  });
  plot.svg.addEventListener('pointerleave', () => moved(null));
  plot.svg.addEventListener('keydown', (event) => onPlotKey(plot, event));
  return plot;
}

function onPlotKey(plot, event) {
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -30, PageUp: 30 };
  const at = plot.cursor === null ? plot.to : plot.cursor;
  let next;
  if (event.key in steps) next = at + 1000 * steps[event.key] * (event.shiftKey ? 10 : 1);
  else if (event.key === 'Home') next = plot.from;
  else if (event.key === 'End') next = plot.to;
  else if (event.key === 'Escape') next = null;
  else return;
  event.preventDefault();
  plot.moved(next === null ? null : Math.min(plot.to, Math.max(plot.from, next)));
}

// Draws the time between two moments; `cursor` is a time or null.
function drawPlot(plot, series, from, to, cursor) {
  const { definition } = plot;
  const width = Math.max(200, plot.svg.clientWidth || 400);
  const lines = definition.lines.map((line) => pointsOf(series, line.value, from, to));
  const most = Math.max(0, ...lines.map((points) => points.reduce((m, p) => Math.max(m, p[1] || 0), 0)));
  const top = definition.top || niceTop(most, definition.bytes);
  const x = (ms) => PLOT.left + (ms - from) / (to - from) * (width - PLOT.left - PLOT.right);
  const y = (v) => PLOT.height - PLOT.bottom - Math.min(v / top, 1) * (PLOT.height - PLOT.bottom - PLOT.top);
  Object.assign(plot, { from, to, cursor });
  plot.svg.setAttribute('viewBox', `0 0 ${width} ${PLOT.height}`);
  drawGrid(plot, width, top, x, y);
  lines.forEach((points, i) => {
    let d = '', pen = 'M';
    for (const [at, value] of points) {
      if (value === null) {
        pen = 'M';
        continue;
      }
      d += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      // a sample alone between two gaps is a dot
      if (pen === 'M') d += 'h0.1';
      pen = 'L';
    }
    plot.paths[i].setAttribute('d', d);
  });
  plot.restarts.replaceChildren(...series.restarts.filter((at) => at >= from).map((at) => {
    const mark = shape('line', { x1: x(at), x2: x(at), y1: PLOT.top, y2: PLOT.height - PLOT.bottom });
    const title = shape('title', {});
    title.textContent = 'restarted at ' + formatClock(at);
    mark.append(title);
    return mark;
  }));
  tellPlot(plot, series, lines, cursor);
  const at = cursor === null ? -100 : x(cursor);
  plot.line.setAttribute('x1', at);
  plot.line.setAttribute('x2', at);
}

function drawGrid(plot, width, top, x, y) {
  const parts = [];
  const label = (text, attributes) => {
    const made = shape('text', attributes);
    made.textContent = text;
    parts.push(made);
  };
  for (const value of [0, top / 2, top]) {
    parts.push(shape('line', { x1: PLOT.left, x2: width - PLOT.right, y1: y(value), y2: y(value) }));
    label(formatTick(value, plot.definition.format), { x: PLOT.left - 6, y: y(value) + 4, 'text-anchor': 'end' });
  }
  // ticks at round times, at least 64 units apart
  const span = plot.to - plot.from;
  const step = [15000, 30000, 60000, 120000, 300000].find((ms) => span / ms * 64 < width) || 600000;
  for (let at = Math.ceil(plot.from / step) * step; at <= plot.to; at += step) {
    parts.push(shape('line', { x1: x(at), x2: x(at), y1: y(0), y2: y(0) + 4 }));
    if (x(at) > PLOT.left + 12 && x(at) < width - 16) {
      label(formatClock(at, step >= 60000), { x: x(at), y: PLOT.height - 4, 'text-anchor': 'middle' });
    }
  }
  plot.grid.replaceChildren(...parts);
}

// Writes the values at the cursor, or the newest ones, in the legend and for screen readers.
function tellPlot(plot, series, lines, cursor) {
  const { definition } = plot;
  const index = cursor === null ? series.at.length - 1 : nearest(series, cursor);
  const said = [];
  const summary = [];
  definition.lines.forEach((line, i) => {
    const value = index < 0 ? null : line.value(series.columns, index);
    const shown = definition.format(value === undefined ? null : value);
    const values = lines[i].map((point) => point[1]).filter((v) => v !== null);
    plot.values[i].textContent = shown;
    said.push(`${line.label} ${shown}`);
    if (values.length > 0) {
      const most = values.reduce((m, v) => Math.max(m, v), values[0]);
      summary.push(`${line.label}: at most ${definition.format(most)}`);
    }
  });
  const when = index < 0 ? (cursor === null ? 'no samples' : formatClock(cursor) + ', no sample')
    : formatClock(series.at[index]);
  plot.svg.setAttribute('aria-valuemax', Math.round((plot.to - plot.from) / 1000));
  // the time shown moves on, and may leave the cursor behind
  const reached = Math.min(plot.to, Math.max(plot.from, cursor === null ? plot.to : cursor));
  plot.svg.setAttribute('aria-valuenow', Math.round((reached - plot.from) / 1000));
  plot.svg.setAttribute('aria-valuetext', `${when}: ${said.join(', ')}${definition.unit}`);
  plot.summary.textContent = summary.length > 0 ? summary.join('. ') + definition.unit + '.'
    : 'There are no samples of this time.';
}
