// What an observer could spoil; prints what a program has of it.
'use strict';
const fs = require('fs');
const url = process.env.BASE + '/v1/chat/ok';
const call = () => fetch(url, { method: 'POST' }).then((answer) => answer.text());
const kinds = {
  rejection: async () => fetch(process.env.CLOSED),
  replaced: async () => {
    const own = async () => 'own';
    globalThis.fetch = own;
    console.log(await call.call().catch((error) => error.message), fetch === own);
  },
  resources: async () => {
    const abort = new AbortController();
    const open = fetch(process.env.BASE + '/v1/chat/never', { method: 'POST', signal: abort.signal }).catch((error) => error.name);
    await new Promise((resolve) => setTimeout(resolve, 200));
    console.log(process.getActiveResourcesInfo().sort().join());
    abort.abort();
    console.log(await open);
  },
  descriptor: async () => { // closes the observer's, and has the number for a file of its own
    await call();
    const fifo = fs.readdirSync('/proc/self/fd').filter((fd) => { try { return fs.readlinkSync('/proc/self/fd/' + fd).endsWith('/fifo'); } catch (error) { return false; } });
    for (const fd of fifo) fs.closeSync(Number(fd));
    const file = fs.openSync(process.env.FILE, 'w');
    await call();
    console.log(fs.readFileSync(process.env.FILE, 'utf8'), file >= 3);
  },
  thread: async () => {
    const { Worker, isMainThread } = require('worker_threads');
    await call();
    if (isMainThread) new Worker(__filename, { argv: ['thread'] });
  },
  inheritance: async () => {
    await call();
    const { spawnSync } = require('child_process');
    console.log(spawnSync('ls', ['-l', '/proc/self/fd'], { encoding: 'utf8', env: process.env }).stdout.includes('/fifo'));
  },
  environment: async () => console.log(process.env.LASTWORD_OBSERVER, process.env.NODE_OPTIONS, process.env.BUN_OPTIONS),
};
kinds[process.argv[2]]();
