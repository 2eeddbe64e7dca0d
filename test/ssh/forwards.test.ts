import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { WebSocket, WebSocketServer } from 'ws'
import { startPlatform } from '../support/platform.ts'
import { makeIdentity, startHttp, startSsh, startTcp, urlShownBy, withoutOpenSsh } from './openssh.ts'

const skip = withoutOpenSsh

test('-R 80 gives an HTTP address with a random name and shows its requests', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const port = await startHttp(t, (request, response) => response.end(`hello ${request.url}`))

  const client = startSsh(t, platform, identity, ['-R', `80:127.0.0.1:${port}`])
  const url = await urlShownBy(client)
  const response = await platform.fetch(`${url}/a?b=1`)

  assert.match(url, /^http:\/\/[a-z0-9-]+\.adit\.localhost:\d+$/)
  assert.equal(await response.text(), 'hello /a?b=1')
  await client.says(/GET \/a\?b=1 {2}200 {2}\d+ ms {2}127\.0\.0\.1/)
})
