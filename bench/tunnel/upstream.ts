import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort, startProgram } from './processes.ts'

/** The services behind every tunnel: static files over HTTP, and an iperf3 server over TCP. */
export interface BenchUpstream {
  readonly http: number
  readonly tcp: number
}

/** The response bodies, by path. */
export const BODIES = { '128 B': 128, '64 KB': 64 * 1024, '10 MB': 10 * 1024 * 1024 } as const
export type BodySize = keyof typeof BODIES

export const pathOf = (body: BodySize) => `/${body.replace(' ', '')}`

export async function startUpstream(dir: string): Promise<BenchUpstream> {
  const www = join(dir, 'www')
  mkdirSync(www)
  for (const [body, bytes] of Object.entries(BODIES))
    writeFileSync(join(www, pathOf(body as BodySize)), Buffer.alloc(bytes, 'x'))
  const [http, tcp] = [await findFreePort(), await findFreePort()]
  await startNginx(dir, 'upstream', http, `root ${www}; sendfile on;`)
  await startProgram('iperf3', ['-s', '-p', String(tcp)], { listens: tcp })
  return { http, tcp }
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
