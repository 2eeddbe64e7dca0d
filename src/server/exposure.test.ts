import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startServerProcess } from '../../test/support/server-process.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'

const TCP_LISTEN = '0A'
const UDP_BOUND = '07'

/** The processes of a server. */
function treeOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...children.split(' ').filter(Boolean).map(Number).flatMap(treeOf)]
}

/** The sockets on which these processes receive, as `tcp 127.0.0.1:80`. */
function receivingSockets(pids: readonly number[]): string[] {
  const inodes = new Set<string>()
  for (const pid of pids)
    for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readlink(`/proc/${pid}/fd/${descriptor}`))?.[1]
      if (inode !== undefined) inodes.add(inode)
    }
  const sockets = new Set<string>()
  for (const [table, state] of [
    ['tcp', TCP_LISTEN],
    ['tcp6', TCP_LISTEN],
    ['udp', UDP_BOUND],
    ['udp6', UDP_BOUND],
  ] as const)
    for (const line of readFileSync(`/proc/net/${table}`, 'utf8').trim().split('\n').slice(1)) {
      const [, local = '', remote = '', current, , , , , , inode = ''] = line.trim().split(/\s+/)
      if (current !== state || !inodes.has(inode) || !remote.endsWith(':0000')) continue
      const [address = '', port = ''] = local.split(':')
      const loopback = address === '0100007F' ? '127.0.0.1' : address
      sockets.add(`${table} ${loopback}:${Number.parseInt(port, 16)}`)
    }
  return [...sockets].sort()
}

/** A descriptor may be closed meanwhile. */
function readlink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

for (const workers of [1, 2])
  test(`with ${workers} workers a server listens on the addresses it was given and nowhere else, and its files are its owner's (P61)`, async (t) => {
    const dataDir = createTempDir()
    const server = await startServerProcess(t, dataDir, ['--workers', String(workers)])

    const { api_url, http_url, https_url, agent_addr, ssh_addr } = server.credentials
    const ports = [api_url, http_url, https_url, agent_addr, ssh_addr].map((address) =>
      address.replace(/.*:/, ''),
    )
    const sockets = receivingSockets(treeOf(server.pid))
    const [dns = ''] = sockets
      .filter((socket) => socket.startsWith('udp'))
      .map((socket) => socket.replace(/.*:/, ''))
    const expected = [`udp 127.0.0.1:${dns}`, ...[...ports, dns].map((port) => `tcp 127.0.0.1:${port}`)]
    const others = sockets.filter((socket) => !expected.includes(socket))
    assert.deepEqual(
      expected.filter((socket) => !sockets.includes(socket)),
      [],
    )
    // The control process and its workers are linked over the loopback address.
    assert.equal(others.length, workers === 1 ? 0 : workers + 1, String(others))
    assert.ok(
      others.every((socket) => socket.startsWith('tcp 127.0.0.1:')),
      String(others),
    )
    const readable = readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter(({ parentPath, name }) => (statSync(join(parentPath, name)).mode & 0o077) !== 0)
      .map(({ name }) => name)
    assert.deepEqual(readable, ['ca.pem'])
  })
