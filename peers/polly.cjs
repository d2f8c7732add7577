// A server that fetches every request from the upstream under Polly.js, which
// records it: node polly.cjs PORT UPSTREAM FOLDER
const http = require('node:http');
const { Polly } = require('@pollyjs/core');
const NodeHttp = require('@pollyjs/adapter-node-http');
const Files = require('@pollyjs/persister-fs');
const [port, upstream, folder] = process.argv.slice(2);
Polly.register(NodeHttp);
Polly.register(Files);
const polly = new Polly('bench', {
  mode: 'record', adapters: ['node-http'], persister: 'fs', logLevel: 'silent',
  persisterOptions: { fs: { recordingsDir: folder } },
});
polly.server.any().on('error', () => {});
const agent = new http.Agent({ keepAlive: true });
http.createServer((req, res) => {
  const { host, connection, ...headers } = req.headers;
  const out = http.request(upstream + req.url, { method: req.method, headers, agent }, (reply) => {
    res.writeHead(reply.statusCode, { 'content-type': reply.headers['content-type'] });
    reply.pipe(res);
  });
  out.on('error', () => res.destroy());
  req.pipe(out);
}).listen(Number(port), '127.0.0.1');
