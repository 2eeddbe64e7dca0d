import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Device, makeDevice } from '../../src/sessions/ssh/testing/device.ts'
import { wire } from '../../src/sessions/ssh/wire.ts'
import { tempDir } from '../support/api.ts'
import { startPlatform } from '../support/platform.ts'
import { startSsh, withoutOpenSsh } from './openssh.ts'

const skip = withoutOpenSsh

/** Message numbers of the agent protocol (draft-ietf-sshm-ssh-agent). */
const [FAILURE, LIST, LISTED, SIGN, SIGNED] = [5, 11, 12, 13, 14]

/** An agent that OpenSSH can ask for signatures by this device; its socket. */
async function startKeyAgent(t: TestContext, device: Device, touched: boolean): Promise<string> {
  const answerTo = (message: Buffer): Buffer => {
    if (message[0] === LIST)
      return Buffer.concat([Buffer.of(LISTED, 0, 0, 0, 1), wire(device.publicKey, 'on a device')])
    if (message[0] !== SIGN) return Buffer.of(FAILURE)
    const data = message.subarray(1 + 4 + device.publicKey.length)
    const asked = data.subarray(4, 4 + data.readUInt32BE(0))
    return Buffer.concat([Buffer.of(SIGNED), wire(device.sign(asked, touched))])
  }
  const server = createServer((socket) => {
    let held = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk])
      while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
        const end = 4 + held.readUInt32BE(0)
        socket.write(wire(answerTo(held.subarray(4, end))))
        held = held.subarray(end)
      }
    })
  })
  const path = join(await tempDir(t), 'agent.sock')
  server.listen(path)
  await once(server, 'listening')
  t.after(() => server.close())
  return path
}

for (const kind of ['ed25519', 'ecdsa'] as const)
  test(`OpenSSH logs in with a key of kind ${kind} on a security device, when it is touched`, {
    skip,
  }, async (t) => {
    const platform = await startPlatform(t)
    const device = makeDevice(kind)
    await platform.call.create('/ssh_credentials', {
      public_key: `${device.algorithm} ${device.publicKey.toString('base64')}`,
    })
    const keyFile = join(await tempDir(t), 'none')
    const login = async (touched: boolean) => {
      const socket = await startKeyAgent(t, device, touched)
      const agent = ['-o', `IdentityAgent=${socket}`, '-o', 'IdentitiesOnly=no']
      const client = startSsh(t, platform, { keyFile }, [...agent, '-R', '80:127.0.0.1:9'], ['http'])
      return client.says(/http:\/\/\S+ ->|Permission denied/)
    }

    const [untouched] = await login(false)
    const [touched] = await login(true)

    assert.match(untouched, /Permission denied/)
    assert.match(touched, /^http:/)
  })
