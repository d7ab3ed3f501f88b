// SPDX-License-Identifier: MIT
// series.js - what the page remembers of the daemon's samples, across polls and restarts. Pure
// functions on one object; times are those of the browser's clock.
'use strict';

const SERIES_KEEP_MS = 605000;

function makeSeries() {
  return { run: null, newest: 0, at: [], columns: {}, restarts: [] };
}

// Adds the samples of a document that came at `receivedMs`. Returns false if they are those of
// another run of the daemon than the ones before: then ask again, from its first sample on.
function addStatus(series, document, receivedMs) {
  const history = document.history;
  if (series.run !== document.server.run_id) {
    const other = series.run !== null;
    series.run = document.server.run_id;
    series.newest = 0;
    if (other) {
      series.restarts.push(receivedMs - 1000 * document.server.uptime_seconds);
      return false;
    }
  }
  // The daemon's wall clock may be another one than the browser's.
  const shift = receivedMs - document.now_ms;
  const before = series.at.length;
  history.at_ms.forEach((at, i) => {
    if (history.first + i > series.newest) series.at.push(at + shift);
  });
  const skip = history.at_ms.length - (series.at.length - before);
  for (const [name, column] of Object.entries(history)) {
    if (!Array.isArray(column) || name === 'at_ms') continue;
    const kept = series.columns[name] || (series.columns[name] = new Array(before).fill(null));
    for (const value of column.slice(skip)) kept.push(value);
  }
  series.newest = Math.max(series.newest, history.newest);
  forgetBefore(series, receivedMs - SERIES_KEEP_MS);
  return true;
}

function forgetBefore(series, ms) {
  let gone = series.at.findIndex((at) => at >= ms);
  if (gone < 0) gone = series.at.length;
  if (gone > 0) {
    series.at.splice(0, gone);
    for (const column of Object.values(series.columns)) column.splice(0, gone);
  }
  series.restarts = series.restarts.filter((at) => at >= ms);
}

// The points of a line between two times: [[ms, value or null] ...]. A null follows where samples
// are missing, so that no line is drawn where nothing is known. `value` gets the columns and an index.
function pointsOf(series, value, fromMs, toMs) {
  const points = [];
  let last = null;
  series.at.forEach((at, i) => {
    if (at < fromMs || at > toMs) return;
    if (last !== null && at - last > 3500) points.push([last + 1, null]);
    const found = value(series.columns, i);
    points.push([at, found === undefined || !Number.isFinite(found) ? null : found]);
    last = at;
  });
  return points;
}

// The index of the sample next to a time, or -1 without a sample within two seconds.
function nearest(series, ms) {
  let best = -1;
  series.at.forEach((at, i) => {
    if (best < 0 || Math.abs(at - ms) < Math.abs(series.at[best] - ms)) best = i;
  });
  return best >= 0 && Math.abs(series.at[best] - ms) <= 2000 ? best : -1;
}

// The mean of a column over the last `lastMs` milliseconds; null if nothing is known.
function meanOf(series, name, lastMs) {
  const column = series.columns[name] || [];
  const end = series.at[series.at.length - 1];
  let sum = 0, count = 0;
  for (let i = column.length - 1; i >= 0 && series.at[i] > end - lastMs; i--) {
    if (column[i] === null) continue;
    sum += column[i];
    count++;
  }
  return count > 0 ? sum / count : null;
}

function ratioOf(part, whole) {
  return part === null || part === undefined || !(whole > 0) ? null : part / whole;
}
