import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Candidate } from './candidates.ts'
import { findFreePort, startProgram } from './processes.ts'
import { type BenchUpstream, startNginx } from './upstream.ts'

/** nginx as a reverse proxy with keep-alive connections to the upstream. */
export async function startNginxHop(dir: string, upstream: BenchUpstream): Promise<Candidate> {
  const port = await findFreePort()
  const hop = await startNginx(
    dir,
    'hop',
    port,
    'location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; }',
    `upstream up { server 127.0.0.1:${upstream.http}; keepalive 256; keepalive_requests 100000000; }`,
  )
  return { name: 'nginx hop', http: { port, host: 'bench' }, parts: { edge: hop } }
}

/** haproxy in TCP mode. */
export async function startHaproxy(dir: string, upstream: BenchUpstream): Promise<Candidate> {
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

/** A real sshd, and a real ssh client that forwards two remote ports. */
export async function startOpenSsh(dir: string, upstream: BenchUpstream): Promise<Candidate> {
  const [port, http, tcp] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const inDir = (name: string) => join(dir, name)
  for (const key of ['host_key', 'user_key'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', inDir(key)])
  writeFileSync(inDir('authorized_keys'), readFileSync(inDir('user_key.pub')), { mode: 0o600 })
  writeFileSync(
    inDir('sshd_config'),
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${inDir('host_key')}\nAuthorizedKeysFile ${inDir('authorized_keys')}\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nMaxSessions 1000\n`,
  )
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true })
  const edge = await startProgram('/usr/sbin/sshd', ['-D', '-e', '-f', inDir('sshd_config')], {
    listens: port,
  })
  const agent = await startProgram(
    'ssh',
    [
      ...['-N', '-F', 'none', '-p', String(port), '-i', inDir('user_key'), '-l', userInfo().username],
      ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
      ...['-o', 'ExitOnForwardFailure=yes', '-o', 'BatchMode=yes'],
      ...['-R', `127.0.0.1:${http}:127.0.0.1:${upstream.http}`],
      ...['-R', `127.0.0.1:${tcp}:127.0.0.1:${upstream.tcp}`],
      '127.0.0.1',
    ],
    { listens: http },
  )
  return { name: 'OpenSSH -R', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent } }
}
