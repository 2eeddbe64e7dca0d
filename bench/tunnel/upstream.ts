import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Link, LOOPBACK } from './link.ts'
import { findFreePort, startProgram } from './processes.ts'

/** The services behind every tunnel, by port. */
export interface BenchUpstream {
  /** HTTP/1.1: static files on nginx, or the bodies of `bulk-upstream.ts`. */
  readonly http?: number
  /** iperf3. */
  readonly tcp: number
  /** HTTP/2 over TLS. */
  readonly http2?: number
}

/** The response bodies, by path. */
export const BODIES = { '128 B': 128, '64 KB': 64 * 1024 } as const
export type BodySize = keyof typeof BODIES

export const pathOf = (body: BodySize) => `/${body.replace(' ', '')}`

/** Static files over HTTP, and an iperf3 server. */
export async function startUpstream(dir: string): Promise<BenchUpstream & { http: number }> {
  const www = join(dir, 'www')
  mkdirSync(www)
  for (const [body, bytes] of Object.entries(BODIES))
    writeFileSync(join(www, pathOf(body as BodySize)), Buffer.alloc(bytes, 'x'))
  const http = await findFreePort()
  await startNginx(dir, 'upstream', http, `root ${www}; sendfile on;`)
  return { http, tcp: await startIperf(LOOPBACK) }
}

/** Starts an iperf3 server beside the agents; returns its port. */
export async function startIperf(link: Link): Promise<number> {
  const port = await findFreePort()
  await link.startRemote('iperf3', ['-s', '--forceflush', '-p', String(port)], { prints: /Server listening/ })
  return port
}

/** Starts nginx with one worker and one server block; returns its process group. */
export function startNginx(
  dir: string,
  name: string,
  port: number,
  server: string,
  httpDirectives = '',
): Promise<number> {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${dir}/${name}-${kind};`)
    .join(' ')
  const file = join(dir, `${name}.conf`)
  writeFileSync(
    file,
    `worker_processes 1; daemon off; pid ${dir}/${name}.pid; error_log ${dir}/${name}.log;
    events { worker_connections 8192; }
    http { access_log off; ${temp} keepalive_requests 100000000; ${httpDirectives}
      server { listen 127.0.0.1:${port} backlog=4096; ${server} } }`,
  )
  return startProgram('nginx', ['-c', file, '-e', `${dir}/${name}.log`], { listens: port })
}
