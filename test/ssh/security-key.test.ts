import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createDevice, type Device } from '../../src/sessions/ssh/testing/device.ts'
import { encodeStrings } from '../../src/sessions/ssh/transport/wire.ts'
import { startPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { openSshSkipReason, startSsh } from './openssh.ts'

const skip = openSshSkipReason

/** Message numbers of the agent protocol (draft-ietf-sshm-ssh-agent). */
const [FAILURE_RESPONSE, LIST_REQUEST, LIST_RESPONSE, SIGN_REQUEST, SIGN_RESPONSE] = [5, 11, 12, 13, 14]

/** Starts an SSH agent that signs with this device and returns its socket. */
async function startKeyAgent(t: TestContext, device: Device, touched: boolean): Promise<string> {
  const handleMessage = (message: Buffer): Buffer => {
    if (message[0] === LIST_REQUEST)
      return Buffer.concat([
        Buffer.of(LIST_RESPONSE, 0, 0, 0, 1),
        encodeStrings(device.publicKey, 'on a device'),
      ])
    if (message[0] !== SIGN_REQUEST) return Buffer.of(FAILURE_RESPONSE)
    const data = message.subarray(1 + 4 + device.publicKey.length)
    const payload = data.subarray(4, 4 + data.readUInt32BE(0))
    return Buffer.concat([Buffer.of(SIGN_RESPONSE), encodeStrings(device.sign(payload, touched))])
  }
  const server = createServer((socket) => {
    let buffered = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk])
      while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32BE(0)) {
        const end = 4 + buffered.readUInt32BE(0)
        socket.write(encodeStrings(handleMessage(buffered.subarray(4, end))))
        buffered = buffered.subarray(end)
      }
    })
  })
  const path = join(createTempDir(), 'agent.sock')
  server.listen(path)
  await once(server, 'listening')
  t.after(() => server.close())
  return path
}

for (const kind of ['ed25519', 'ecdsa'] as const)
  test(`OpenSSH logs in with a key of kind ${kind} on a security device only when it is touched`, {
    skip,
  }, async (t) => {
    const platform = await startPlatform(t)
    const device = createDevice(kind)
    await platform.call.create('/ssh_credentials', {
      public_key: `${device.algorithm} ${device.publicKey.toString('base64')}`,
    })
    const keyFile = join(createTempDir(), 'none')
    const login = async (touched: boolean) => {
      const socket = await startKeyAgent(t, device, touched)
      const agent = ['-o', `IdentityAgent=${socket}`, '-o', 'IdentitiesOnly=no']
      const client = startSsh(t, platform, { keyFile }, [...agent, '-R', '80:127.0.0.1:9'], ['http'])
      return client.waitForOutput(/http:\/\/\S+ ->|Permission denied/)
    }

    const [untouchedResult] = await login(false)
    const [touched] = await login(true)

    assert.match(untouchedResult, /Permission denied/)
    assert.match(touched, /^http:/)
  })
