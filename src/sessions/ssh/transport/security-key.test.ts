import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDevice, type Device } from '../testing/device.ts'
import { verifyDeviceSignature } from './security-key.ts'

const DATA = Buffer.from('what the client was asked to sign')

/** The signature as the gateway gets it: the package strips the algorithm and a length. */
function signed(device: Device, touched = true): Buffer {
  return device.sign(DATA, touched).subarray(4 + device.algorithm.length + 4)
}

for (const kind of ['ed25519', 'ecdsa'] as const) {
  test(`a signature by a ${kind} device is valid for its key and its data only`, () => {
    const [device, other] = [createDevice(kind), createDevice(kind)]
    const holds = (key: Buffer, data: Buffer) =>
      verifyDeviceSignature(key, device.algorithm, data, signed(device))

    assert.equal(holds(device.publicKey, DATA), true)
    assert.equal(holds(other.publicKey, DATA), false)
    assert.equal(holds(device.publicKey, Buffer.from('something else')), false)
  })

  test(`a signature by a ${kind} device without user presence is invalid`, () => {
    const device = createDevice(kind)

    assert.equal(
      verifyDeviceSignature(device.publicKey, device.algorithm, DATA, signed(device, false)),
      false,
    )
  })

  test(`no byte of a ${kind} signature or key can be changed, removed or added`, () => {
    const device = createDevice(kind)
    const good = signed(device)
    const holds = (key: Buffer, signature: Buffer) =>
      verifyDeviceSignature(key, device.algorithm, DATA, signature)

    for (const [what, bytes] of [
      ['signature', good],
      ['key', device.publicKey],
    ] as const)
      for (let offset = 0; offset < bytes.length; offset++) {
        const changed = Buffer.from(bytes)
        changed[offset]! ^= 0x40
        for (const damaged of [changed, bytes.subarray(0, offset)]) {
          const [key, signature] = what === 'key' ? [damaged, good] : [device.publicKey, damaged]
          assert.equal(holds(key, signature), false, `${what}, byte ${offset} of ${damaged.length}`)
        }
      }
    assert.equal(holds(device.publicKey, Buffer.concat([good, Buffer.of(0)])), false)
  })
}

test('a key of one kind is not accepted as the other', () => {
  const device = createDevice('ed25519')

  assert.equal(
    verifyDeviceSignature(device.publicKey, 'sk-ecdsa-sha2-nistp256@openssh.com', DATA, signed(device)),
    false,
  )
})
