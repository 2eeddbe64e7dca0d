import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { listen } from '../support/local-server.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createNoise } from './noise.ts'
import { assertSameUse } from './same-use.ts'

const MEGABYTES = Number(process.env.APPS_GIT_MEGABYTES ?? 200)

/** git's own service, as web servers run it: CGI, RFC 3875. */
async function runBackend(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url!, 'http://service')
  const { headers } = request
  const child = spawn('git', ['http-backend'], {
    env: {
      ...{ PATH: process.env.PATH, GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: '1' },
      ...{ REMOTE_ADDR: '127.0.0.1', REMOTE_USER: 'somebody', REQUEST_METHOD: request.method },
      ...{ PATH_INFO: pathname, QUERY_STRING: search.slice(1), CONTENT_TYPE: headers['content-type'] },
      ...{ CONTENT_LENGTH: headers['content-length'], GIT_PROTOCOL: headers['git-protocol']?.toString() },
      HTTP_CONTENT_ENCODING: headers['content-encoding'],
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  for await (const chunk of child.stdout) {
    if (response.headersSent) {
      if (!response.write(chunk)) await once(response, 'drain')
      continue
    }
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) continue
    const fields = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(': ', 2) as [string, string])
    const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200'
    response.writeHead(Number.parseInt(status, 10), fields.filter(([name]) => name !== 'Status').flat())
    response.write(head.subarray(end + 4))
  }
  response.end()
}

test(`git: push and clone ${MEGABYTES} MB, then push and fetch another commit`, {
  skip: missingPrograms('git'),
}, async (t) => {
  const seen = await assertSameUse(
    t,
    () => {
      const root = createTempDir()
      execFileSync('git', ['init', '--quiet', '--bare', join(root, 'app.git')])
      return listen(
        t,
        createServer((request, response) => void runBackend(root, request, response)),
      )
    },
    async ({ url, dir, run }) => {
      const env = {
        ...{ GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z', GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' },
        ...{ GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.com', GIT_TERMINAL_PROMPT: '0' },
        ...{ GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.com' },
      }
      const git = (...args: string[]) => run(['git', ...args], env)
      const commit = async (name: string, bytes: number) => {
        writeFileSync(join(dir, 'work', name), createNoise(bytes, name.length))
        await git('-C', 'work', 'add', '.')
        await git('-C', 'work', 'commit', '--quiet', '--message', name)
      }

      await git('init', '--quiet', '--initial-branch=main', 'work')
      await git('-C', 'work', 'remote', 'add', 'origin', `${url}/app.git`)
      await commit('large', MEGABYTES * 1_000_000)
      await git('-C', 'work', 'push', '--quiet', 'origin', 'main')
      await git('clone', '--quiet', `${url}/app.git`, 'copy', '--branch', 'main')
      await commit('small', 1000)
      await git('-C', 'work', 'push', '--quiet', 'origin', 'main')
      await git('-C', 'copy', 'pull', '--quiet')
      await git('-C', 'copy', 'fsck', '--full', '--strict')
      await git('clone', '--quiet', '--depth=1', `${url}/app.git`, 'shallow', '--branch', 'main')
      return {
        log: await git('-C', 'copy', 'log', '--format=%H %s'),
        files: await git('-C', 'copy', 'ls-tree', '-r', '-l', 'HEAD'),
        unchanged: await git('-C', 'copy', 'status', '--porcelain'),
        shallow: await git('-C', 'shallow', 'log', '--format=%H %s'),
        branches: (await git('ls-remote', `${url}/app.git`)).trim(),
      }
    },
  )
  assert.equal(seen?.log.trim().split('\n').length, 2)
})
