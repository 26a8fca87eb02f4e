'use strict';
/* Everything that comes from the broker is put in as text (never as markup), with control characters made visible. */

const VIEWS = [['overview', 'Overview'], ['topics', 'Topics'], ['groups', 'Groups'], ['transactions', 'Transactions'],
  ['clients', 'Clients'], ['requests', 'Requests'], ['faults', 'Faults']];
const REFRESH_MS = 3000;
const TAPE_MS = 1000;
const SILENT_MS = 15000;
const TAPE_ROWS = 200;
const LARGE_BYTES = 1000;
const SOURCES = { TOPIC: 'of the topic', DYNAMIC_BROKER: 'of the broker, changed at run time', DYNAMIC_DEFAULT_BROKER: 'of the cluster', STATIC_BROKER: 'when the broker started' };
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const main = document.getElementById('main');
const state = { timer: 0, turn: 0, before: null, server: 'broker', mayProduce: false, views: VIEWS.filter(([name]) => name !== 'faults') };

const clean = (text) => String(text).replace(INVISIBLE, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

/* An element; children are elements or text. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(clean(child)));
  }
  return element;
}

const link = (text, ...parts) => make('a', { href: '#/' + parts.map(encodeURIComponent).join('/') }, text);
const number = (value) => value === null || value === undefined ? '–' : Number(value).toLocaleString('en');
const time = (ms) => ms === null || ms < 0 ? '–' : new Date(ms).toISOString().replace('T', ' ').replace('Z', ''); // UTC, as the footer says
const clockTime = () => new Date().toISOString().slice(11, 19);

function bytes(value) {
  if (value === null || value === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; at += 1; }
  return (at && value < 100 ? value.toFixed(1) : Math.round(value)) + ' ' + units[at];
}

function span(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 0) return 'for ever';
  if (ms < 1000) return Math.round(ms) + ' ms';
  const s = ms / 1000;
  if (s < 120) return s.toFixed(s < 10 ? 1 : 0) + ' s';
  if (s < 7200) return Math.round(s / 60) + ' min';
  return s < 172800 ? Math.round(s / 3600) + ' h' : Math.round(s / 86400) + ' d';
}

/* The time of a setting, such as 16 h 40 min. */
function exactly(ms) {
  if (ms < 0) return 'for ever';
  const parts = [];
  for (const [unit, size] of [['d', 86400000], ['h', 3600000], ['min', 60000], ['s', 1000], ['ms', 1]]) {
    if (ms >= size) parts.push(Math.floor(ms / size) + ' ' + unit);
    ms %= size;
  }
  return parts.join(' ') || '0 ms';
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const bound = (ms) => ms < 1 ? Number(ms.toPrecision(2)) + ' ms' : span(ms);
const brief = (ms) => ms < 10 ? ms.toFixed(1) + ' ms' : span(ms);

/* columns: [title, cell, class, what it means]; a cell is text, or an element. */
function table(label, columns, rows, empty) {
  if (!rows.length) return make('p', { class: 'soft' }, empty);
  const kind = (column) => column[2] ? { class: column[2] } : {};
  return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label },
    make('table', columns.length > 2 ? { class: 'stacked' } : {},
      make('thead', {}, make('tr', {}, columns.map((column) => make('th', { scope: 'col', title: column[3], ...kind(column) }, column[0])))),
      make('tbody', {}, rows.map((row) => make('tr', {}, columns.map((column) => make('td', { 'data-label': column[0], ...kind(column) }, column[1](row))))))));
}

const card = (title, ...children) => make('section', { class: 'card' }, title ? make('h2', {}, title) : null, children);

/* Without an answer a red box says so, and what is shown is grey. */
function showSilence(isSilent) {
  if (isSilent === document.body.classList.contains('silent')) return;
  document.body.classList.toggle('silent', isSilent);
  const box = document.getElementById('silence');
  box.hidden = !isSilent;
  box.textContent = isSilent ? 'No answer from the ' + state.server + ' since ' + clockTime() + '. What is shown is older.' : '';
}

async function get(path, options) {
  try {
    const answer = await fetch(path, { ...options, credentials: 'same-origin', signal: AbortSignal.timeout(SILENT_MS) });
    showSilence(false);
    return answer;
  } catch {
    showSilence(true);
    throw new Error('no answer from the ' + state.server);
  }
}

async function ask(view, parameters) {
  const query = new URLSearchParams(Object.entries(parameters || {}).filter(([, value]) => value !== '' && value !== undefined));
  return read(await get('/api/' + view + (query.size ? '?' + query : '')));
}

const post = async (view, fields) => read(await get('/api/' + view, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields),
}));

async function read(answer) {
  const text = await answer.text();
  if (!answer.ok) {
    let reason = text;
    try { reason = JSON.parse(text).error; } catch { /* it is no JSON */ }
    throw Object.assign(new Error(reason), { status: answer.status });
  }
  return JSON.parse(text);
}

const tell = (text, isError) => {
  const status = document.getElementById('status');
  status.textContent = clean(text);
  status.className = isError ? 'error' : '';
};

/* What became of the latest action of a form stands in it until the next one. `act` gives the text. */
function outcome() {
  const line = make('span', { class: 'outcome', role: 'status' });
  const show = (text, isError = false) => {
    if (line.textContent !== clean(text)) line.textContent = clean(text);
    line.classList.toggle('error', isError);
  };
  return {
    line, show,
    run: async (act) => {
      show('');
      try { show(await act() ?? ''); } catch (fault) { show(fault.message, true); }
    },
  };
}

/* Shows what `draw` makes now and, as long as this view is open, every few seconds; not while something in it is in use. */
async function live(place, draw, isPaused) {
  const turn = state.turn;
  let isShown = false;
  const round = async () => {
    const isBusy = place.contains(document.activeElement) || document.hidden || (isPaused && isPaused());
    if (!isBusy || !place.childNodes.length) {
      try {
        const made = await draw();
        if (turn !== state.turn) return;
        if (made) place.replaceChildren(...[made].flat().filter(Boolean));
        isShown = true;
        tell('as of ' + clockTime());
      } catch (fault) {
        if (turn !== state.turn) return;
        if (isShown) tell(fault.message, true);
        else place.replaceChildren(make('p', { class: 'error' }, fault.message));
      }
    }
    if (turn === state.turn) state.timer = setTimeout(round, REFRESH_MS);
  };
  await round();
}

/* A table of many pages, with a filter. `draw(document)` gives what is shown of one page of `view`. */
function paged(view, parameters, draw, filters, title = 'Name contains') {
  const told = outcome();
  const starts = [''];
  const place = make('div', {});
  const fields = {};
  const form = make('form', { onsubmit: (event) => { event.preventDefault(); starts.length = 1; show(); } });
  if (filters) {
    fields.contains = make('input', { type: 'search', name: 'contains', autocomplete: 'off' });
    form.append(make('label', {}, title, fields.contains));
    for (const [name, text] of Object.entries(filters)) {
      fields[name] = make('input', { type: 'checkbox', name });
      fields[name].addEventListener('change', () => { starts.length = 1; show(); });
      form.append(make('label', { class: 'check' }, fields[name], text));
    }
    form.append(make('button', {}, 'Show'), told.line);
  }
  const back = make('button', { type: 'button', onclick: () => { starts.pop(); show(); } }, 'Back');
  const next = make('button', { type: 'button', onclick: () => { starts.push(next.dataset.after); show(); } }, 'Next');
  const count = make('span', { class: 'soft' });
  back.hidden = next.hidden = true;
  const pages = make('form', {}, back, next, count, filters ? null : told.line);
  const read = async () => {
    const given = { ...parameters, after: starts[starts.length - 1] };
    if (fields.contains) given.contains = fields.contains.value;
    for (const name of Object.keys(filters || {})) if (fields[name].checked) given[name] = 'true';
    const found = await ask(view, given);
    next.dataset.after = found.next ?? '';
    next.disabled = found.next === null;
    back.disabled = starts.length === 1;
    next.hidden = back.hidden = next.disabled && back.disabled;
    count.textContent = found.total ? number(found.total) + ' in all' : ''; // without rows the table says so
    return draw(found, Boolean(given.contains || given.open));
  };
  const show = () => told.run(async () => place.replaceChildren(...[await read()].flat().filter(Boolean)));
  return { elements: [filters ? form : null, place, pages].filter(Boolean), start: () => live(place, read) };
}

/* Overview */

function quantile(counts, bounds, share) {
  const all = counts.reduce((a, b) => a + b, 0);
  const wanted = all * share;
  const name = all < 100 ? 'max ' : ''; // the p99 of so few is the slowest
  let seen = 0;
  for (let at = 0; at < counts.length; at += 1) {
    seen += counts[at];
    if (wanted > 0 && seen >= wanted) return name + (at < bounds.length ? '≤ ' + bound(bounds[at] * 1000) : '> ' + bound(bounds[bounds.length - 1] * 1000));
  }
  return '–';
}

function difference(now, before) {
  if (!before || before.started_ms !== now.started_ms || now.elapsed_s <= before.elapsed_s) return null;
  const old = new Map(before.requests.map((each) => [each.api, each]));
  return {
    seconds: now.elapsed_s - before.elapsed_s,
    traffic: (name) => now.traffic[name] - before.traffic[name],
    requests: now.requests.map((each) => {
      const was = old.get(each.api);
      return was ? { count: each.count - was.count, durations: each.durations.map((n, at) => n - was.durations[at]) } : each;
    }),
  };
}

function tellWhere(overview) {
  state.server = overview.node_id < 0 ? 'gateway' : 'broker';
  const where = (overview.node_id < 0 ? 'gateway ' : 'version ') + overview.version + ' · cluster ' + (overview.cluster_id || 'not known');
  document.getElementById('where').textContent = clean(where);
  state.mayProduce = overview.may_produce === true;
  for (const each of document.querySelectorAll('.produce')) each.hidden = !state.mayProduce;
  if (state.views.length !== overview.views.length) {
    state.views = VIEWS.filter(([name]) => overview.views.includes(name));
    drawLinks();
  }
}

const drawProblems = (title, kind, problems) => problems.length
  ? make('section', { class: 'card ' + kind }, make('h2', {}, title), make('ul', {}, problems.map((each) =>
    make('li', {}, capital(each.what) + (each.names.length ? ' (' + number(each.count) + ' in all): ' + each.names.join('; ') + (each.names.length < each.count && each.names.length >= 10 ? ' …' : '') : '.'),
      make('br'), make('code', {}, each.help.replace('HOST:PORT', location.host)),
      state.views.some(([name]) => name === each.view) ? [' · ', link('See ' + each.view, each.view)] : null))))
  : null;

async function drawOverview() {
  const now = await ask('overview');
  const change = difference(now, state.before);
  const unknown = state.before && state.before.elapsed_s === now.elapsed_s ? '–' : 'measuring'; // the clock of a test may stand
  state.before = now;
  const rate = (value) => change ? value / change.seconds : 0;
  const tile = (title, value) => make('div', { class: 'tile' }, make('span', {}, title), make('b', {}, value));
  const all = change ? change.requests.reduce((sum, each) => sum + each.count, 0) : 0;
  const name = (key) => change ? bytes(rate(change.traffic(key))) + '/s' : unknown;
  tellWhere(now);
  const own = now.node_id < 0 ? undefined : now.brokers.find((each) => each.id === now.node_id);
  const facts = [
    ['Version', now.version], ['Cluster id', now.cluster_id], ['Node id', own && now.node_id], ['Controller', own && now.controller_id],
    ['Addresses', (own ? [own] : now.brokers).map((each) => Object.entries(each.listeners).map(([key, value]) => key + ' ' + value + (each.is_closed ? ' (closed: the broker takes no connections)' : '')).join(', ')).join(', ')],
    ['Upstream', now.upstream],
    ['Clients', now.kafka_4_refuses === undefined ? undefined : number(now.kafka_4_refuses) + ' of ' + number(now.counts.clients) + ' do not work with Kafka 4 without this gateway'],
    ['Up since', time(now.started_ms) + ', ' + span(now.now_ms - now.started_ms)],
    ['Log directories', own && now.log_directories.join(', ')],
    ['Serves clients', now.is_ready ? 'yes' : own ? 'no: loading, or shutting down' : 'no, for the reason above'],
  ].filter(([, value]) => value !== undefined);
  const apis = now.requests.map((each, at) => ({ ...each, now: change ? change.requests[at] : null }))
    .sort((one, other) => other.count - one.count);
  return [
    drawProblems('What is wrong', 'bad', now.problems.filter((each) => each.needs_action)) ?? make('section', { class: 'card calm' }, 'Nothing is wrong.'),
    drawProblems('Worth knowing', 'notable', now.problems.filter((each) => !each.needs_action)),
    make('div', { class: 'tiles' },
      tile('Requests', change ? number(Math.round(rate(all))) + '/s' : unknown), tile('Bytes in', name('bytes_in')),
      tile('Bytes out', name('bytes_out')),
      'converted_bytes' in now.traffic ? tile('Converted', name('converted_bytes')) : null,
      Object.entries(now.counts).map(([key, value]) => tile(capital(key.replace('_', ' ')), number(value)))),
    make('div', { class: 'two' },
      card(own ? 'Broker' : 'Gateway', make('dl', {}, facts.map(([title, value]) => [make('dt', {}, title), make('dd', {}, value)]))),
      card('Memory', table('Memory', [
        ['For', (row) => row.name], ['Used', (row) => bytes(row.used_bytes), 'number'], ['Limit', (row) => bytes(row.limit_bytes), 'number'],
        ['Share', (row) => row.limit_bytes ? make('progress', { max: row.limit_bytes, value: row.used_bytes, 'aria-label': row.name }) : ''],
      ], now.memory, 'Nothing is known.'))),
    card('Requests', table('Requests', [
      [own ? 'API' : 'How', (row) => row.api], ['Since start', (row) => number(row.count), 'number'],
      ['Now', (row) => row.now ? number(Math.round(rate(row.now.count))) + '/s' : unknown, 'number'],
      ['p99 since start', (row) => quantile(row.durations, now.bounds_s, 0.99), 'number'],
      ['p99 now', (row) => row.now ? quantile(row.now.durations, now.bounds_s, 0.99) : unknown, 'number'],
    ], apis, 'No requests yet.'), make('p', { class: 'soft' }, own ? 'p99, or max of fewer than 100 requests: time of handling, without that which a Fetch waits for records or a JoinGroup for members.'
      : 'p99, or max of fewer than 100 requests: time until the answer, waiting in the cluster included: without new records a Fetch waits for as long as its client says, 0.5 s by default; a JoinGroup waits for members.')),
  ];
}

async function showOverview() {
  const place = make('div', {});
  main.replaceChildren(make('h1', {}, 'Overview'), place);
  await live(place, drawOverview);
}

/* Topics and records */

function showTopics() {
  const list = paged('topics', {}, (found, isFiltered) => table('Topics', [
    ['Topic', (row) => link(row.name, 'topics', row.name), 'name'],
    ['Partitions', (row) => number(row.partitions), 'number'], ['Replicas', (row) => number(row.replicas), 'number'],
    ['Records', (row) => number(row.offsets), 'number', 'End offset minus start offset of all partitions; more than there are where the topic is compacted or has transactions'], ['Size', (row) => bytes(row.size_bytes), 'number'],
    ['Retention', (row) => row.settings_unknown ? 'settings not known' : row.cleanup_policy.join(', ') + ', ' + exactly(row.retention_ms) +
      (row.retention_bytes >= 0 ? ', ' + bytes(row.retention_bytes) : ''), 'short'],
    ['State', (row) => row.leaderless ? row.leaderless + ' without a leader' : row.under_replicated ? row.under_replicated + ' not in sync' : 'ok'],
  ], found.rows, isFiltered ? 'There is no such topic.' : 'No topics yet.'), { internal: 'internal topics' });
  main.replaceChildren(make('h1', {}, 'Topics'), card('', list.elements));
  return list.start();
}

function showTopic(name) {
  const settings = make('div', {});
  const showSettings = (rows) => { settings.replaceChildren(card('Settings other than the defaults', table('Settings', [
    ['Setting', (row) => row.name, 'name'], ['Value', (row) => row.value, 'name'], ['Source', (row) => SOURCES[row.source]],
  ], rows, 'All have their defaults.'))); };
  const list = paged('partitions', { topic: name }, (found) => [table('Partitions', [
    ['Partition', (row) => row.is_here ? link('partition ' + row.partition, 'records', name, row.partition) : 'partition ' + row.partition, 'short'],
    ['Leader', (row) => row.leader < 0 ? 'none' : row.leader, 'number'], ['Replicas', (row) => row.replicas.join(', ')],
    ['In sync', (row) => row.isr.join(', ')], ['Start offset', (row) => number(row.start_offset), 'number'],
    ['End offset', (row) => number(row.end_offset), 'number'], ['High watermark', (row) => number(row.high_watermark), 'number'],
    ['Last stable offset', (row) => number(row.last_stable_offset), 'number'], ['Segments', (row) => number(row.segments), 'number'],
    ['Size', (row) => bytes(row.size_bytes), 'number'],
  ], found.rows, 'It has no partitions.'), showSettings(found.settings)]);
  main.replaceChildren(link('All topics', 'topics'), make('h1', {}, 'Topic ' + name), card('Partitions', list.elements), settings);
  return list.start();
}

const fieldBytes = (field) => field.base64 === undefined
  ? new TextEncoder().encode(field.text) : Uint8Array.from(atob(field.base64), (c) => c.charCodeAt(0));

function hex(data) {
  const lines = [];
  for (let at = 0; at < data.length; at += 16) {
    const part = [...data.slice(at, at + 16)];
    lines.push(at.toString(16).padStart(6, '0') + '  ' + part.map((b) => b.toString(16).padStart(2, '0')).join(' ').padEnd(data.length > 16 ? 48 : 0) +
      ' ' + part.map((b) => b > 31 && b < 127 ? String.fromCharCode(b) : '.').join(''));
  }
  return lines.join('\n');
}

/* The text of a field, and why it is not JSON where that was asked for. */
function fieldText(field, form) {
  if (form === 'hex') return [hex(fieldBytes(field))];
  if (field.text === undefined) return [hex(fieldBytes(field)), form === 'json' ? 'not JSON, shown as hex' : undefined];
  if (form === 'text') return [field.text];
  if (!field.is_whole) return [field.text, 'only its beginning is here, shown as text'];
  try {
    const text = JSON.stringify(JSON.parse(field.text), null, 1);
    return /\d{16}/.test(field.text) ? [field.text, 'a number this long would be rounded, shown as text'] : [text];
  } catch { return [field.text, 'not JSON, shown as text']; }
}

/* What is too long for its place scrolls: the line below says so, and the keyboard can reach it. */
function tellWhetherItScrolls(shown) {
  const isLong = shown.scrollHeight > shown.clientHeight;
  shown.nextElementSibling.hidden = !isLong;
  if (isLong) shown.tabIndex = 0; else shown.removeAttribute('tabindex');
}

const widths = new ResizeObserver((seen) => seen.forEach(({ target }) => tellWhetherItScrolls(target)));

function drawField(field, form) {
  if (field === null || !field.size) return make('i', { class: 'soft' }, field === null ? 'null' : 'empty');
  const [text, note] = fieldText(field, form);
  const shown = make('pre', {}, text);
  const lines = text.split('\n').length;
  widths.observe(shown);
  return [shown, make('div', { class: 'note', hidden: true }, '↓ ' + (lines > 1 ? number(lines) + ' lines' : 'a long line') + ': scroll to see the rest'),
    [note, field.is_whole ? undefined : 'cut: it has ' + number(field.size) + ' bytes'].filter(Boolean).map((each) => make('div', { class: 'note' }, each))];
}

const drawRecord = (record, form) => make('div', { class: 'record' },
  make('div', { class: 'about' }, make('span', {}, 'offset ' + record.offset), make('span', {}, record.timestamp < 0 ? 'no timestamp' : time(record.timestamp) + ' (' + record.timestamp_type + ')'),
    ['key', 'value'].filter((name) => record[name] && record[name].size > LARGE_BYTES).map((name) => make('span', {}, name + ': ' + bytes(record[name].size))),
    record.header_count ? make('span', {}, 'headers: ' + record.header_count) : null),
  make('dl', {}, make('dt', {}, 'key'), make('dd', {}, drawField(record.key, form)),
    make('dt', {}, 'value'), make('dd', {}, drawField(record.value, form)),
    record.headers.map((header) => [make('dt', {}, header.key), make('dd', {}, drawField(header.value, form))])));

/* The text as the bytes of a record; an empty field with `is null` is null. */
function produceForm(topic, partition, done) {
  const key = make('input', { name: 'key', autocomplete: 'off' });
  const value = make('textarea', { name: 'value', rows: 3 });
  const noKey = make('input', { type: 'checkbox', name: 'nokey', checked: true });
  const noValue = make('input', { type: 'checkbox', name: 'novalue' });
  key.addEventListener('input', () => { noKey.checked = !key.value; });
  const told = outcome();
  const write = (event) => {
    event.preventDefault();
    told.run(async () => {
      const record = { topic, partition: Number(partition), key: noKey.checked ? null : key.value, value: noValue.checked ? null : value.value };
      const written = await post('records', record);
      await done();
      return 'written at offset ' + written.offset;
    });
  };
  const form = make('form', { onsubmit: write }, make('label', {}, 'Key', key), make('label', { class: 'check' }, noKey, 'key is null'),
    make('label', { class: 'wide' }, 'Value', value), make('label', { class: 'check' }, noValue, 'value is null'), make('button', {}, 'Write'), told.line);
  return make('section', { class: 'card produce', hidden: !state.mayProduce }, make('h2', {}, 'Write a record'), form);
}

function showRecords(topic, partition) {
  const offset = make('input', { type: 'number', min: 0, name: 'offset' });
  const since = make('input', { type: 'datetime-local', step: 1, name: 'since' });
  const form = make('select', { name: 'form' }, ['text', 'json', 'hex'].map((each) => make('option', { value: each }, each)));
  const follow = make('input', { type: 'checkbox', name: 'follow' });
  const place = make('div', {});
  const button = (title, act) => make('button', { type: 'button', disabled: true, onclick: () => { follow.checked = false; act(); } }, title);
  const first = button('First', () => go({ offset: found.start_offset }));
  const last = button('Last', () => go({}));
  const back = button('Back', () => {
    if (starts.length < 2) return go({ before: found.first });
    starts.pop();
    return read(starts[starts.length - 1]);
  });
  const next = button('Next', () => { starts.push({ offset: found.next }); read({ offset: found.next }); });
  let found = null, starts = [];
  const draw = () => {
    const absent = found.position - found.first - found.rows.length;
    const count = found.rows.length;
    const offsets = (first, last) => first === last ? 'offset ' + first : 'offsets ' + first + ' to ' + last;
    return [
      make('p', { class: 'soft' }, (count ? number(count) + (count === 1 ? ' record is shown: ' : ' records are shown: ') + offsets(found.rows[0].offset, found.rows[count - 1].offset) + '. ' : '') +
        (found.end_offset > found.start_offset ? 'A consumer with read_committed can read ' + offsets(found.start_offset, found.end_offset - 1) : 'A consumer with read_committed finds nothing to read, and waits for offset ' + found.end_offset) +
        (found.start_offset ? '; what was before ' + found.start_offset + ' is deleted. ' : '. ') +
        (absent > 0 ? number(absent) + (absent === 1 ? ' offset from ' : ' offsets from ') + found.first + ' on' + (absent === 1 ? ' is a marker' : ' are markers') + ', aborted or compacted.' : '')),
      found.rows.length ? found.rows.map((row) => drawRecord(row, form.value)) : make('p', { class: 'soft' }, found.isByTime && found.end_offset > found.start_offset
        ? 'No record has this time or a later one. Records without a timestamp are found by their offset: First shows them.' : 'No records here.'),
    ].flat();
  };
  const show = () => {
    place.replaceChildren(...draw());
    place.querySelectorAll('pre').forEach(tellWhetherItScrolls);
  };
  const read = async (given) => {
    try {
      found = await ask('records', { topic, partition, ...given });
      found.isByTime = given.time !== undefined;
      first.disabled = last.disabled = false;
      back.disabled = starts.length < 2 && found.first <= found.start_offset;
      next.disabled = found.next === null;
      show();
      tell('as of ' + clockTime());
    } catch (fault) { place.replaceChildren(make('p', { class: 'error' }, fault.message)); }
  };
  const go = (given) => { starts = [given]; return read(given); };
  const start = () => offset.value && since.value
    ? place.replaceChildren(make('p', { class: 'error' }, 'Offset and time are both filled in: empty one of them.'))
    : go(offset.value ? { offset: offset.value } : since.value ? { time: Date.parse(since.value + 'Z') } : {});
  form.addEventListener('change', () => found && show());
  main.replaceChildren(link('Topic ' + topic, 'topics', topic), make('h1', {}, topic + ', partition ' + partition), card('Records',
    make('form', { onsubmit: (event) => { event.preventDefault(); start(); } },
      make('label', {}, 'From offset', offset), make('label', {}, 'From time (UTC)', since), make('label', {}, 'Shown as', form),
      make('button', {}, 'Show'), first, back, next, last, make('label', { class: 'check' }, follow, 'follow the end')), place),
  produceForm(topic, partition, () => go({})));
  const turn = state.turn;
  const round = async () => {
    if (turn !== state.turn) return;
    if (follow.checked && !document.hidden) await go({});
    state.timer = setTimeout(round, REFRESH_MS);
  };
  go({}).then(round);
}

/* Groups, transactions, clients */

function showGroups() {
  const list = paged('groups', {}, (found, isFiltered) => table('Groups', [
    ['Group', (row) => row.id ? link(row.id, 'groups', row.id) : '(empty name)', 'name'], ['Type', (row) => row.type], ['State', (row) => row.state],
    ['Members', (row) => number(row.members), 'number'], ['Partitions', (row) => number(row.partitions), 'number'],
    ['Lag', (row) => number(row.lag), 'number'],
  ], found.rows, isFiltered ? 'There is no such group on this broker.' : 'No groups yet.'), {});
  main.replaceChildren(make('h1', {}, 'Groups'), card('', list.elements));
  return list.start();
}

function showGroup(id) {
  const about = make('p', {});
  const members = paged('group', { id }, (found) => {
    committed.hidden = false;
    about.textContent = clean(found.type + ' group, ' + found.state + (found.type === 'classic' ? ', generation ' : ', epoch ') + found.epoch);
    return table('Members', [
      ['Member', (row) => row.member_id, 'name'], ['Instance', (row) => row.instance_id ?? '–'], ['Client id', (row) => row.client_id, 'name'],
      ['Host', (row) => row.client_host], ['Assigned', (row) => row.assigned.join(', ') + (row.assigned_count > row.assigned.length ? ' … ' + number(row.assigned_count) + ' in all' : ''), 'name'],
    ], found.rows, 'It has no members.');
  });
  const offsets = paged('offsets', { id }, (found) => table('Offsets', [
    ['Topic', (row) => link(row.topic, 'topics', row.topic), 'name'], ['Partition', (row) => number(row.partition), 'number'],
    ['Committed', (row) => number(row.offset), 'number'], ['End', (row) => number(row.end_offset), 'number'], ['Lag', (row) => number(row.lag), 'number'],
    ['At', (row) => time(row.commit_ms)],
  ], found.rows, 'It has committed nothing, and is assigned nothing.'));
  const committed = card('Offsets', offsets.elements);
  committed.hidden = true; // until the group is known
  main.replaceChildren(link('All groups', 'groups'), make('h1', {}, 'Group ' + id), about, card('Members', members.elements), committed);
  members.start();
  return offsets.start();
}

function showTransactions() {
  const list = paged('transactions', {}, (found, isFiltered) => table('Transactions', [
    ['Transactional id', (row) => row.id, 'name'], ['State', (row) => row.state], ['Open for', (row) => span(row.open_ms), 'number'],
    ['Timeout', (row) => span(row.timeout_ms), 'number'], ['Producer', (row) => row.producer_id + ', epoch ' + row.producer_epoch],
    ['Partitions', (row) => row.partitions.join(', ') + (row.partition_count > row.partitions.length ? ' … ' + number(row.partition_count) + ' in all' : ''), 'name'],
  ], found.rows, isFiltered ? 'There is no such transactional id on this broker.' : 'No transactional ids yet: one appears here when a producer with a transactional.id begins.'), { open: 'only those that are open' });
  main.replaceChildren(make('h1', {}, 'Transactions'), card('', list.elements));
  return list.start();
}

function showClients() {
  const lines = (texts) => texts.map((text) => make('div', {}, text));
  const parted = (texts) => texts.map((text) => make('div', {}, text.split(/(?<=[a-z])(?=[A-Z])/).map((part, at) => [at ? make('wbr') : null, part]))); // names of APIs are long
  const counts = (row, name) => Object.entries(row[name]).map(([what, count]) => what.replace(' as ', ' → ').replace(' none', ' uncompressed') + ', ' + number(count) + (count === 1 ? ' time' : ' times') + (name === 'lost' ? ', last at ' + time(row.loss_details[what].latest_ms) : ''));
  const because = (row) => row.reasons.split('; ').map((reason, at, all) => reason + (at < all.length - 1 ? ';' : ''));
  const requests = (row) => parted(Object.entries(row.requests).map(([api, versions]) => api + ' ' + Object.keys(versions).map((version) => 'v' + version).join(', ')));
  const changes = (row) => [...['converted', 'translated', 'lost'].map((name) => [capital(name), counts(row, name)]), ['Not in its versions', row.cannot_carry]]
    .filter(([, texts]) => texts.length).map(([title, texts]) => make('div', {}, make('div', { class: 'soft' }, title), parted(texts)));
  const list = paged('clients', {}, (found, isFiltered) => table('Clients', [
    ['Client', (row) => [row.client_id || '(no client id)', make('div', { class: 'soft' }, row.principal), make('div', { class: 'soft' }, row.address)], 'name'],
    ['Software', (row) => row.software_is_guess ? row.software + ', as of Kafka ' + row.software_version + ' (guess)' : row.software + ' ' + row.software_version, 'software'],
    ['Works with Kafka 4', (row) => row.works, 'works'],
    ['Because', (row) => lines([...because(row), row.mend && 'Mend: ' + row.mend].filter(Boolean)), 'reason'],
    ['Requests', requests],
    ...found.rows.some((row) => changes(row).length) ? [['Changed, lost', changes, 'changes', 'What came in another format or version, and what did not arrive; what the versions of its requests have no field for']] : [],
    ['Latest', (row) => lines(time(row.latest_ms).slice(0, 19).split(' ')), 'short'],
  ], found.rows, isFiltered ? 'There is no such client.' : 'No client has asked for anything yet.'), {}, 'Client id or address contains');
  main.replaceChildren(make('h1', {}, 'Clients'), card('', list.elements, make('p', { class: 'soft' },
    'A client is an address, a principal, a client id and its software: all connections that have these in common are one row. A connection that has only asked for versions (ApiVersions) is not listed.')));
  return list.start();
}

/* The requests as they come: the latest on top, until they are stopped. */
function showRequests() {
  const field = (name, size) => make('input', { type: 'search', name, size, autocomplete: 'off', list: name === 'api' ? 'apis' : null, onchange: () => start() });
  const fields = { api: field('api', 14), client: field('client', 14), topic: field('topic', 14) };
  const place = make('div', { class: 'dense' });
  const about = make('span', { class: 'soft' });
  const stop = make('button', { type: 'button', onclick: () => { isStopped = !isStopped; stop.textContent = isStopped ? 'Go on' : 'Stop'; draw(); round(); } }, 'Stop');
  const apis = make('datalist', { id: 'apis' });
  const told = outcome();
  let rows = [], since = null, after = 0, missed = 0, others = 0, isStopped = false, isRefused = false, tape = 0, given = {};
  const turn = state.turn;
  const count = (n, what) => (n ? number(n) : 'no') + what + (n > 1 ? 's' : '');
  /* A connection may tell its name after its first request. */
  const nameSoftware = () => {
    const known = new Map([...rows].reverse().map((row) => [row.address, row.software]));
    rows.forEach((row) => { row.software = known.get(row.address); });
  };
  const draw = () => {
    about.textContent = since === null ? '' : capital(count(after, ' request')) + ' since ' + time(since).slice(11, 19) + (missed ? ', ' + number(missed) + ' of them came too fast to be shown' : '') + (others ? '; ' + count(others, ' other') + ', which the filter leaves out' : '');
    place.replaceChildren(table('Requests', [
      ['At', (row) => time(row.at_ms).slice(11)], ['API', (row) => row.api + ' v' + row.version, 'short'], ['Client id', (row) => row.client_id || '(none)', 'name'],
      ['Topics', (row) => row.topics.join(', '), 'name'], ['Answer', (row) => row.errors === null ? 'none asked for' : row.errors.join(', ') || 'ok'],
      ['Took', (row) => brief(Math.max(0, row.took_ms - row.waited_ms)), 'number'], ['Waited', (row) => row.waited_ms ? span(row.waited_ms) : '', 'number'],
      ['Bytes', (row) => number(row.request_bytes), 'number'], ['Address', (row) => row.address], ['Software', (row) => row.software, 'name'],
    ], rows, isStopped ? 'Stopped: Go on shows requests as they come.' : 'Requests are shown here as they come.'));
  };
  const round = async () => {
    clearTimeout(state.timer);
    if (turn !== state.turn || isStopped || isRefused) return;
    const own = tape;
    if (!document.hidden) {
      try {
        const found = await ask('requests', { ...given, after, limit: TAPE_ROWS });
        if (turn !== state.turn || own !== tape || isStopped) return;
        if (found.total < after) rows = []; // the tape ended while nobody looked, and began again
        rows = [...found.rows, ...rows].slice(0, TAPE_ROWS);
        nameSoftware();
        missed = (found.total < after ? 0 : missed) + found.missed;
        others = found.others;
        since = found.since_ms;
        after = found.total;
        if (!place.contains(document.activeElement)) draw();
        told.show('');
        tell('as of ' + clockTime());
      } catch (fault) {
        if (turn !== state.turn || own !== tape) return;
        stop.disabled = isRefused = fault.status === 400; // until the filter is another one
        told.show(fault.message, true);
      }
    }
    if (turn === state.turn && own === tape) state.timer = setTimeout(round, TAPE_MS);
  };
  const start = () => {
    const wanted = Object.fromEntries(Object.entries(fields).map(([name, each]) => [name, each.value.trim()]));
    if (tape && JSON.stringify(wanted) === JSON.stringify(given)) return; // Enter is a change and a submit
    given = wanted;
    rows = []; since = null; after = missed = others = 0; tape += 1; stop.disabled = isRefused = false;
    place.replaceChildren(); about.textContent = ''; told.show('');
    round();
  };
  main.replaceChildren(make('h1', {}, 'Requests'), card('', make('form', { onsubmit: (event) => { event.preventDefault(); start(); } },
    make('label', {}, 'API is', fields.api), make('label', {}, 'Client id contains', fields.client), make('label', {}, 'Topic contains', fields.topic),
    make('button', {}, 'Show'), stop, told.line, apis), make('p', {}, about), place,
  make('p', { class: 'soft' }, 'Waited: for records, acknowledgements or members. The broker keeps requests only while this view is open.')));
  ask('overview').then((found) => apis.replaceChildren(...found.requests.map((each) => make('option', { value: each.api }))), () => {});
  start();
}

/* Fields as on the command line: api=Produce code=NOT_LEADER_OR_FOLLOWER times=3 */
function parseFields(text) {
  const fields = {};
  for (const part of text.split(/\s+/).filter(Boolean)) {
    const at = part.indexOf('=');
    if (at < 1) throw new Error('expected FIELD=VALUE, found ' + part);
    const value = part.slice(at + 1);
    try { fields[part.slice(0, at)] = JSON.parse(value); } catch { fields[part.slice(0, at)] = value; }
  }
  return fields;
}

function showFaults() {
  const place = make('div', {});
  const clock = make('p', {});
  const about = make('p', { class: 'soft' });
  const kind = make('select', { name: 'kind', onchange: () => explain() });
  const fields = make('input', { name: 'fields', autocomplete: 'off', size: 40, placeholder: 'api=Produce times=3' });
  const by = make('input', { name: 'by', autocomplete: 'off', size: 8, value: '45s' });
  let found = null;
  const explain = () => {
    const chosen = found && found.kinds.find((each) => each.kind === kind.value);
    if (chosen) about.textContent = clean(chosen.does + ' Fields: ' + [...chosen.fields, ...found.common_fields].join(', ') + '.');
  };
  const [moved, armed, removed] = [outcome(), outcome(), outcome()];
  const act = async (fields, text) => { await post('faults', fields); place.replaceChildren(await draw()); return text; };
  const doing = (told, title, fields, text) => make('button', { type: 'button', onclick: () => told.run(() => act(fields, text)) }, title);
  const draw = async () => {
    found = await ask('faults');
    forms.forEach((each) => { each.hidden = !found.is_controlled; });
    if (!found.is_controlled) return make('p', {}, 'This broker has no control port, or one that asks for a token. For tests start it with ', make('code', {}, 'stepdown serve --control 127.0.0.1:9100'));
    if (!kind.options.length) { kind.append(...found.kinds.map((each) => make('option', { value: each.kind }, each.kind))); explain(); }
    clock.textContent = time(found.now_ms) + (found.clock_stands ? ', and stands' : '');
    return table('Faults', [
      ['Number', (row) => row.id, 'number'],
      ['To do', (row) => row.state === 'removed' ? '' : make('span', { class: 'buttons' }, doing(removed, 'Remove', { do: 'remove', id: row.id }, 'fault ' + row.id + ' is removed'),
        row.fault.kind === 'hold' ? doing(removed, 'Release', { do: 'release', id: row.id }, 'fault ' + row.id + ' is released') : null)],
      ['Fault', (row) => Object.entries(row.fault).map(([name, value]) => name + '=' + (Array.isArray(value) ? value.join(',') : typeof value === 'string' ? value : JSON.stringify(value))).join(' '), 'name'],
      ['State', (row) => row.state + (row.failure ? ': ' + row.failure : '')], ['Hits', (row) => number(row.hits), 'number', 'Requests in which the fault fired'],
    ], found.faults, 'No fault was armed.');
  };
  const arm = async () => {
    const chosen = { kind: kind.value, ...parseFields(fields.value) };
    return act({ do: 'arm', fields: chosen }, chosen.kind + ' is armed');
  };
  const move = (text) => act({ do: 'advance', fields: { by: text } }, 'moved by ' + text + (/^\d+$/.test(text) ? ' ms' : ''));
  const submits = (told, action) => ({ onsubmit: (event) => { event.preventDefault(); told.run(action); } });
  const forms = [
    card('Clock', clock, make('form', submits(moved, () => move(by.value.trim())),
      make('label', {}, 'Move by', by), make('button', {}, 'Move'), doing(moved, 'Stop', { do: 'pause' }, 'the clock stands'),
      doing(moved, 'Go on', { do: 'resume' }, 'the clock runs'), moved.line)),
    card('Arm a fault', make('form', submits(armed, arm), make('label', {}, 'Kind', kind), make('label', { class: 'wide' }, 'Fields', fields),
      make('button', {}, 'Arm'), armed.line), about),
    make('form', {}, doing(removed, 'Remove all', { do: 'reset' }, 'all are removed'), removed.line),
  ];
  forms.forEach((each) => { each.hidden = true; }); // until the broker is known to have a control port
  main.replaceChildren(make('h1', {}, 'Faults and clock'), ...forms.slice(0, 2), card('Faults', place, forms[2]));
  return live(place, draw);
}

/* From the address to a view */

function drawLinks() {
  document.getElementById('views').replaceChildren(...state.views.map(([name, title]) =>
    make('a', { href: '#/' + name, 'aria-current': name === state.current ? 'page' : null }, title)));
}

function route() {
  clearTimeout(state.timer);
  state.turn += 1;
  let parts = [];
  try { parts = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent); } catch { /* overview */ }
  const [view, one, other] = parts;
  state.current = view === 'records' ? 'topics' : VIEWS.some(([name]) => name === view) ? view : view === undefined ? 'overview' : '';
  drawLinks();
  document.title = 'stepdown: ' + (state.current || 'no such view');
  if (other !== undefined && (view === 'records' || view === 'topics')) showRecords(one, other);
  else if (view === 'topics') one === undefined ? showTopics() : showTopic(one);
  else if (view === 'groups') one === undefined ? showGroups() : showGroup(one);
  else if (view === 'transactions') showTransactions();
  else if (view === 'clients') showClients();
  else if (view === 'requests') showRequests();
  else if (view === 'faults') showFaults();
  else if (state.current) showOverview();
  else main.replaceChildren(make('h1', {}, 'There is no view ' + view), make('p', {}, link('Overview', 'overview')));
}

document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
document.addEventListener('keydown', (event) => {
  const isTyping = ['INPUT', 'SELECT', 'TEXTAREA'].includes(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const view = state.views[Number(event.key) - 1];
  if (view) location.hash = '#/' + view[0];
  const search = main.querySelector('input[type="search"]');
  if (event.key === '/' && search) { event.preventDefault(); search.focus(); }
});
if (!/^(#\/?(overview)?)?$/.test(location.hash)) ask('overview').then(tellWhere, (fault) => tell(fault.message, true));
setInterval(() => document.hidden || get('/page.svg').catch(() => {}), REFRESH_MS);
window.addEventListener('hashchange', () => { route(); main.focus(); });
route();
