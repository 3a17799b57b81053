// Reports the requests to a model of the process that loads it (Node 18 and later, Bun), as JSON lines,
// to the FIFO that LASTWORD_OBSERVER names. Nothing here may change what the process does, so all of it
// runs within guard(). A version that is not served must still parse it: the syntax is old.
'use strict';
const fs = require('fs');
const { fstatSync, writeSync } = fs; // as they are now: programs patch the module
const VARIABLE = 'LASTWORD_OBSERVER', LINE_BYTES = 4000, BODY_BYTES = 4096, PROGRESS_MS = 2000;
const HEADERS = /^(retry-after|retry-after-ms|x-should-retry)$|rate-?limit/, HEADERS_LIMIT = 24, VALUE_LIMIT = 200;
const OPTION = /(?:"--preload=((?:[^"\\]|\\.)*)"|--(?:require|preload)[ =](?:"((?:[^"\\]|\\.)*)"|((?:[^\s"\\]|\\.)+)))(?=\s|$)/g;
const UNPACK = { gzip: 'gunzipSync', 'x-gzip': 'gunzipSync', deflate: 'inflateSync', br: 'brotliDecompressSync', zstd: 'zstdDecompressSync' };
const ABORT = { name: 'AbortError' };

const guard = (work, failed) => function () {
  try {
    return work.apply(this, arguments);
  } catch (error) {
    return failed && failed(error);
  }
};
const define = (object, name, value) => Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: false });

guard(() => {
  const { env, versions } = process, bun = Boolean(versions.bun);
  if (versions.deno) return;
  const text = env[VARIABLE], loaded = Symbol.for(VARIABLE); // a thread of the agent's has none
  if (!text || process[loaded]) return;
  define(process, loaded, true); // two installations of lastword report once
  const spec = JSON.parse(text), modelPath = new RegExp(spec.model_path, 'i');

  // --- the environment, without lastword's part ---
  const real = (path) => guard(fs.realpathSync, () => path)(path), isOurs = (path, own) => real(path.replace(/\\(.)/g, '$1')) === real(own);
  const cleanOptions = guard((name) => {
    const old = env[name] || '', parts = [];
    old.replace(OPTION, (all, a, b, c, at) => isOurs(a || b || c, __filename) && parts.unshift([at, at + all.length]));
    const cut = (rest, [from, to]) => rest.slice(0, rest[to] ? from : from && from - 1) + rest.slice(to + 1);
    const rest = parts.reduce(cut, old);
    if (rest) env[name] = rest; else delete env[name];
  });
  const cleanPath = guard(() => {
    const old = (env.PYTHONPATH || '').split(':'), own = __dirname + '/python';
    const rest = old.filter((folder) => !folder || !isOurs(folder, own));
    if (!rest.length) delete env.PYTHONPATH;
    else if (rest.length < old.length) env.PYTHONPATH = rest.join(':');
  });
  const preload = '--preload=' + __filename;
  const OWN = { NODE_OPTIONS: ['--require "' + __filename + '"', ' '], BUN_OPTIONS: [preload.includes(' ') ? '"' + preload + '"' : preload, ' '], PYTHONPATH: [__dirname + '/python', ':'] };
  const given = {};
  Object.keys(OWN).forEach((name) => { given[name] = env[name]; });
  guard(() => {
    delete env[VARIABLE];
    cleanOptions('NODE_OPTIONS');
    cleanOptions('BUN_OPTIONS');
    cleanPath();
  })();
  if (versions.electron || (!bun && parseInt(versions.node, 10) < 18)) return;
  // A launcher's child with the launcher's own stdin and stdout is the agent, so it gets the part back,
  // unless its program may not see these files.
  const outside = new Set(String(spec.outside || '').split(' ').filter(Boolean));
  const isOutside = (words) => words.join(' ').split(' ').some((word) => outside.has(word.split('/').pop()));
  const isAgent = (words, stdio) => !isOutside(words) && (stdio === 'inherit' || (Array.isArray(stdio) && [0, 1].every((n) => {
    return stdio[n] === 'inherit' || stdio[n] === n || Boolean(stdio[n] && stdio[n].fd === n);
  })));
  const restored = (own) => {
    const whole = Object.assign({}, own, { [VARIABLE]: text });
    for (const [name, [part, between]] of Object.entries(OWN)) {
      if (given[name] !== env[name]) whole[name] = own[name] ? part + between + own[name] : part;
    }
    return whole;
  };

  // --- the pipe ---
  const is = guard((fd, place) => { const { dev, ino } = fstatSync(fd); return ino === place[1] && dev === place[0]; });
  let fd = -1;
  const place = guard(() => {
    if (!is(0, spec.stdin) && !is(1, spec.stdout)) return undefined;
    const closeOnExec = { linux: 0x80000, darwin: 0x1000000 }[process.platform] || 0; // Bun adds it from 1.3 on
    fd = fs.openSync(spec.pipe, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK | closeOnExec);
    const pipe = fstatSync(fd);
    return pipe.isFIFO() ? [pipe.dev, pipe.ino] : fs.closeSync(fd);
  })();
  if (!place) return;
  const encode = (event) => {
    for (;;) {
      const line = Buffer.from(JSON.stringify(event) + '\n');
      if (line.length <= LINE_BYTES) return line;
      if (event.text) event.text = event.text.slice(0, event.text.length * 0.9).replace(/[\uD800-\uDBFF]$/, '');
      else if (event.headers) delete event.headers[Object.keys(event.headers).pop()];
      else return '';
    }
  };
  const send = guard((event, entry, more) => {
    if (fd < 0) return;
    const line = encode(Object.assign({ event, pid: process.pid }, entry && { id: entry.id }, more));
    if (!is(fd, place)) fd = -1; // closed by somebody else, and perhaps another file by now
    else if (line) writeSync(fd, line);
  }, (error) => {
    if (error.code === 'EPIPE' || error.code === 'EBADF') fd = -1;
  });

  // --- requests ---
  const running = new Map(), entries = new WeakMap();
  let last = 0, timer;
  const begin = (owner, method, url, bytes) => {
    const isModel = method === 'POST' && modelPath.test(url.pathname.slice(0, 2000));
    if (!isModel || !/^https?:$/.test(url.protocol) || entries.has(owner)) return undefined;
    const entry = { id: ++last, owner: new WeakRef(owner), key: method + url.host + url.pathname, status: 0, count: 0, seen: 0, parts: [], size: 0 };
    entries.set(owner, entry);
    running.set(entry.id, entry);
    if (!timer) (timer = setInterval(tick, PROGRESS_MS)).unref();
    const more = { method, host: url.host.slice(0, 300), path: url.pathname.slice(0, 300), model: true };
    send('request', entry, Object.assign(more, bytes >= 0 && bytes !== null && { bytes: Number(bytes) }));
    return entry;
  };
  const total = (entry) => (entry.socket && entry.socket.deref() || { bytesRead: 0 }).bytesRead + entry.count;
  const answer = (entry, status, headers, packed) => {
    if (!entry || entry.status || (status < 200 && status !== 101)) return;
    const all = {}, some = {};
    if (Array.isArray(headers)) for (let i = 0; i < headers.length; i += 2) all[String(headers[i]).toLowerCase()] = headers[i + 1];
    else if (typeof headers.forEach === 'function') headers.forEach((value, name) => { all[name] = value; });
    else Object.assign(all, headers);
    const names = Object.keys(all).filter((name) => HEADERS.test(name) && name.length <= VALUE_LIMIT).slice(0, HEADERS_LIMIT);
    names.forEach((name) => { some[name] = String(all[name]).slice(0, VALUE_LIMIT); });
    const type = all['content-type'] && String(all['content-type']).slice(0, VALUE_LIMIT);
    Object.assign(entry, { status, seen: total(entry), encoding: packed && String(all['content-encoding'] || '').trim().toLowerCase() });
    const more = bun && status < 400 ? { ends: false } : {};
    send('status', entry, Object.assign({ status }, type && { type }, names.length && { headers: some }, more));
  };
  const take = guard((entry, chunk) => {
    if (!chunk) return; // the end of a stream
    entry.some = entry.some || chunk.length > 0;
    if (entry.status < 400 || entry.size >= BODY_BYTES || chunk === entry.latest) return;
    entry.latest = chunk; // a chunk that is seen on two ways counts once
    entry.parts.push(Buffer.from(Buffer.from(chunk).subarray(0, BODY_BYTES - entry.size)));
    entry.size += entry.parts[entry.parts.length - 1].length;
  });
  const sendBody = guard((entry) => {
    if (!entry.size || entry.told) return;
    entry.told = true;
    const raw = Buffer.concat(entry.parts), unpack = UNPACK[entry.encoding];
    const flush = unpack && /^[gi]/.test(unpack) ? 2 : 1; // what came first may be half of it
    const plain = unpack ? require('zlib')[unpack](raw, { finishFlush: flush, maxOutputLength: 1 << 20 }) : raw;
    send('body', entry, { text: plain.toString('utf8', 0, BODY_BYTES).replace(/\uFFFD+$/, '') });
  });
  const finish = guard((entry, error) => {
    if (!entry || !running.delete(entry.id)) return undefined;
    if (!running.size) timer = clearInterval(timer);
    sendBody(entry);
    const empty = entry.status === 200 && entry.tapped && !entry.some && { empty: true };
    if (!error || (entry.status >= 400 && error.name === ABORT.name)) return send('end', entry, empty); // a refusal that is not read
    const code = [error, error.cause || {}].map((one) => one.code).find((one) => typeof one === 'string');
    return send('error', entry, { code: code ? code.slice(0, 100) : null, name: String(error.name || 'Error').slice(0, 100) });
  });
  const tick = guard(() => {
    for (const entry of running.values()) {
      const now = total(entry);
      if (!entry.owner.deref()) finish(entry, entry.status ? null : ABORT);
      else if (entry.status && now !== entry.seen) {
        entry.seen = now;
        sendBody(entry);
        send('progress', entry);
      }
    }
  });
  const tap = (object, name, entry) => {
    const original = object[name], note = guard(take);
    if (typeof original !== 'function') return;
    entry.tapped = true;
    define(object, name, function (chunk) {
      note(entry, chunk);
      return Reflect.apply(original, this, arguments);
    });
  };

  // --- a launcher's children ---
  const processes = require('child_process'), { ChildProcess } = processes;
  const relaunch = guard((options) => {
    if (!isAgent([options.file].concat(options.args), options.stdio) || !Array.isArray(options.envPairs)) return;
    const own = {};
    options.envPairs.forEach((pair) => { own[pair.slice(0, pair.indexOf('='))] = pair.slice(pair.indexOf('=') + 1); });
    options.envPairs = Object.entries(restored(own)).map(([name, value]) => name + '=' + value);
  });
  const { spawn } = ChildProcess.prototype;
  ChildProcess.prototype.spawn = new Proxy(spawn, { apply(target, self, args) {
    relaunch(args[0]);
    return Reflect.apply(target, self, args);
  } });
  const relaunchSync = guard((args) => {
    const where = args.findIndex((each, n) => n > 0 && each && typeof each === 'object' && !Array.isArray(each));
    if (where < 0 || !isAgent([].concat.apply([], args.slice(0, where)), args[where].stdio)) return args;
    const options = Object.assign({}, args[where], { env: restored(args[where].env || env) });
    return args.map((each, n) => (n === where ? options : each));
  });
  ['spawnSync', 'execFileSync'].forEach((name) => {
    processes[name] = new Proxy(processes[name], { apply: (target, self, args) => Reflect.apply(target, self, relaunchSync(args) || args) });
  });
  guard(require('module').syncBuiltinESMExports)();

  // --- what undici, node:http and node:http2 publish, and Bun's fetch ---
  const channels = require('diagnostics_channel'), { errorMonitor } = require('events');
  const kept = []; // a channel that nobody holds may be collected with its subscribers
  const on = (name, work) => kept[kept.push(channels.channel(name)) - 1].subscribe(guard(work));
  const of = (owner) => entries.get(owner), at = (base, path) => new URL(/^https?:/.test(path) ? path : base + path); // a proxy's are whole
  on('undici:request:create', ({ request }) => {
    if (!request.upgrade) begin(request, request.method, at(String(request.origin), request.path), request.contentLength);
  });
  on('undici:client:sendHeaders', ({ request, socket }) => Object.assign(of(request), { socket: new WeakRef(socket) }));
  on('undici:request:headers', ({ request, response }) => {
    answer(of(request), response.statusCode, response.headers, true);
    if (response.statusCode >= 200) tap(request, 'onData', of(request));
  });
  on('undici:request:bodyChunkReceived', ({ request, chunk }) => take(of(request), chunk));
  on('undici:request:trailers', ({ request }) => finish(of(request)));
  on('undici:request:error', ({ request, error }) => finish(of(request), error || ABORT));
  // A reset that the socket knows nothing of is the program's own abort.
  const failure = ({ socket }, error) => (error.code !== 'ECONNRESET' || (socket && (socket.errored || socket.readableEnded)) ? error : ABORT);
  on('http.client.request.start', ({ request }) => {
    if (request.socketPath || request.getHeader('upgrade')) return;
    const url = at(request.protocol + '//' + (request.getHeader('host') || request.host), request.path);
    const entry = begin(request, request.method, url, request.getHeader('content-length') || request._contentLength);
    request.once(errorMonitor, guard((error) => finish(entry, failure(request, error))));
    request.once('close', guard(() => {
      finish(entry, request.res && request.res.complete ? null : failure(request, { name: 'Error', code: 'ECONNRESET' }));
    }));
  });
  on('http.client.response.finish', ({ request, response }) => {
    of(request).socket = new WeakRef(response.socket);
    answer(of(request), response.statusCode, response.headers, true);
    tap(response, 'push', of(request));
  });
  on('http2.client.stream.created', ({ stream, headers }) => {
    const method = headers[':method'], host = headers[':authority'] || headers.host;
    const url = at(headers[':scheme'] + '://' + host, headers[':path']), key = method + url.host + url.pathname;
    if (!Array.from(running.values()).some((entry) => entry.key === key && !entry.status)) begin(stream, method, url); // else undici's
  });
  on('http2.client.stream.finish', ({ stream, headers }) => {
    answer(of(stream), Number(headers[':status']), headers, true);
    tap(stream, 'push', of(stream));
  });
  on('http2.client.stream.error', ({ stream, error }) => finish(of(stream), error));
  on('http2.client.stream.close', ({ stream }) => finish(of(stream), stream.rstCode || !of(stream).status ? ABORT : null));

  if (bun) require('./bun.cjs')({ guard, define, begin, answer, take, finish, forget: (entry) => running.delete(entry.id) });
  const script = String(process.argv[1] || '').split('/').pop().slice(0, 200);
  send('start', null, { runtime: bun ? 'bun' : 'node', version: versions.bun || versions.node, script });
})();
