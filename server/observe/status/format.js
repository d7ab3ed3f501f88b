// SPDX-License-Identifier: MIT
// format.js - numbers, times and amounts as people read them. Pure functions.
'use strict';

// A space at which no line breaks.
const NARROW = '\u202f';

// Three digits and a unit of 1000: 0, 7, 12.3, 1.23 k, 45.6 M, 1.00 T.
function formatCount(value) {
  if (value === null || !Number.isFinite(value)) return '–';
  const units = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
  return formatScaled(value, 1000, units);
}

function formatBytes(value) {
  if (value === null || !Number.isFinite(value)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  return formatScaled(value, 1024, units);
}

function formatScaled(value, step, units) {
  let unit = 0;
  // 999.6 would round to 1000 of this unit
  while (Math.abs(value) >= step - 0.5 && unit + 1 < units.length) {
    value /= step;
    unit++;
  }
  const whole = unit === 0 && Number.isInteger(value);
  const size = Math.abs(value);
  const digits = whole || size >= 99.95 ? 0 : size >= 9.995 ? 1 : size === 0 ? 0 : 2;
  return value.toFixed(digits) + (units[unit] === '' ? '' : NARROW + units[unit]);
}

// All digits, in groups of three.
function formatExact(value) {
  if (value === null || !Number.isFinite(value)) return '–';
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, NARROW);
}

function formatMicros(value) {
  if (value === null || !Number.isFinite(value)) return '–';
  if (value < 999.5) return value.toFixed(value < 9.995 ? 1 : 0) + NARROW + 'µs';
  if (value < 999500) return (value / 1e3).toFixed(value < 9995 ? 2 : value < 99950 ? 1 : 0) + NARROW + 'ms';
  return (value / 1e6).toFixed(2) + NARROW + 's';
}

function formatPercent(ratio) {
  if (ratio === null || !Number.isFinite(ratio)) return '–';
  const percent = ratio * 100;
  // never show almost all as 100 %, or a little as 0 %
  if (percent > 99.9 && percent < 100) return '>' + NARROW + '99.9' + NARROW + '%';
  if (percent > 0 && percent < 0.1) return '<' + NARROW + '0.1' + NARROW + '%';
  return percent.toFixed(1) + NARROW + '%';
}

function formatRatio(value) {
  return value === null || !Number.isFinite(value) ? '–' : value.toFixed(2);
}

// The two largest units: 45 s, 3 min 20 s, 2 h 5 min, 12 d 3 h.
function formatDuration(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return '–';
  seconds = Math.max(0, Math.floor(seconds));
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first < 0) return '0' + NARROW + 's';
  const parts = [];
  for (const [name, size] of units.slice(first, first + 2)) {
    if (seconds >= size) parts.push(Math.floor(seconds / size) + NARROW + name);
    seconds %= size;
  }
  return parts.join(' ');
}

function formatClock(ms, withoutSeconds) {
  const pad = (n) => String(n).padStart(2, '0');
  const time = new Date(ms);
  const minutes = `${pad(time.getHours())}:${pad(time.getMinutes())}`;
  return withoutSeconds ? minutes : `${minutes}:${pad(time.getSeconds())}`;
}

// A value on an axis: 0, 50 %, 2 ms instead of 0.0 us, 50.0 %, 2.00 ms.
function formatTick(value, format) {
  return value === 0 ? '0' : format(value).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');
}

// The upper end of an axis: 1, 2 or 5 times a power of ten, or a power of two of bytes, at least `value`.
function niceTop(value, bytes) {
  if (!(value > 0)) return 1;
  if (bytes) return Math.pow(2, Math.ceil(Math.log2(Math.max(value, 1024))));
  const power = Math.pow(10, Math.floor(Math.log10(value)));
  for (const step of [1, 2, 5, 10]) {
    if (value <= step * power * (1 + 1e-9)) return step * power;
  }
  return 10 * power;
}
