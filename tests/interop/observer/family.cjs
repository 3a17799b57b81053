// A launcher, the agent that it starts, and a tool that the agent starts before and after its request.
'use strict';
const { execSync, spawnSync } = require('child_process');
const names = ['LASTWORD_OBSERVER', 'NODE_OPTIONS', 'BUN_OPTIONS', 'PYTHONPATH'];
const ours = () => names.map((name) => process.env[name]);
const start = (role, stdio) => spawnSync(process.execPath, [__filename, role], { stdio, encoding: 'utf8', env: process.env });
const request = () => fetch(process.env.BASE + '/v1/chat/ok', { method: 'POST' }).then((answer) => answer.text());
const roles = {
  launcher: async () => { process.exitCode = start('agent', 'inherit').status; },
  tool: async () => { await request(); console.log(JSON.stringify(ours())); },
  agent: async () => {
    const before = JSON.parse(start('tool', 'pipe').stdout);
    await request();
    const shell = execSync('env', { encoding: 'utf8', env: process.env }).split('\n').filter((line) => names.includes(line.split('=')[0]));
    console.log(JSON.stringify({ before, after: JSON.parse(start('tool', 'pipe').stdout), own: ours(), shell: shell.sort() }));
  },
};
roles[process.argv[2]]();
