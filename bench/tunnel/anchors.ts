import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from './candidates.ts'
import { findFreePort, startProgram } from './processes.ts'
import { type BenchUpstream, startNginx } from './upstream.ts'

/** nginx as a reverse proxy with keep-alive connections to the upstream. */
export async function startNginxHop(dir: string, upstream: number): Promise<Candidate> {
  const port = await findFreePort()
  const hop = await startNginx(
    dir,
    'hop',
    port,
    'location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; }',
    `upstream up { server 127.0.0.1:${upstream}; keepalive 256; keepalive_requests 100000000; }`,
  )
  return { name: 'nginx hop', http: { port, host: 'bench' }, parts: { edge: hop } }
}

/** haproxy in TCP mode. */
export async function startHaproxy(
  dir: string,
  upstream: BenchUpstream & { http: number },
): Promise<Candidate> {
  const [http, tcp] = [await findFreePort(), await findFreePort()]
  const file = join(dir, 'haproxy.cfg')
  const listenSection = (name: string, from: number, to: number) =>
    `listen ${name}\n  bind 127.0.0.1:${from}\n  server upstream 127.0.0.1:${to}\n`
  writeFileSync(
    file,
    `global\n  maxconn 8000\n  nbthread 1\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 5m\n  timeout server 5m\n${listenSection('http', http, upstream.http)}${listenSection('tcp', tcp, upstream.tcp)}`,
  )
  const edge = await startProgram('haproxy', ['-db', '-f', file], { listens: tcp })
  return { name: 'haproxy', http: { port: http, host: 'bench' }, tcp, parts: { edge } }
}
