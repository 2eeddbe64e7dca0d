import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { encodeBytes, encodeText, MalformedMessage, readFields, textOf } from '../../base/text/protobuf.ts'
import { clusterRequest } from '../testing/forwarder-client.ts'
import { LENGTH_BYTES, readRequest, writeResponse } from './connection-messages.ts'

const pod = {
  id: 'uid',
  name: 'cart',
  namespace: 'shop',
  annotations: { 'ngrok.com/a': '1', 'ngrok.com/b': '' },
}
const messageOf = (framed: Buffer) => framed.subarray(LENGTH_BYTES)

test('a request names a service and the pod that connected', () => {
  const request = readRequest(messageOf(clusterRequest('Web.Shop', 8080, pod)))

  assert.deepEqual(request, {
    host: 'web.shop',
    port: 8080,
    pod: { ...pod, annotations: new Map(Object.entries(pod.annotations)) },
  })
})

test('a client that is no pod has no identity', () => {
  assert.equal(readRequest(messageOf(clusterRequest('web.shop', 80))).pod, undefined)
})

test('fields of later versions are ignored', () => {
  const later = Buffer.concat([encodeText(9, 'new'), encodeBytes(10, encodeText(1, 'nested'))])

  const request = readRequest(Buffer.concat([later, messageOf(clusterRequest('web.shop', 80)), later]))

  assert.deepEqual([request.host, request.port], ['web.shop', 80])
})

test('a response has its length, and an endpoint or an error', () => {
  const fields = (response: Parameters<typeof writeResponse>[0]) => {
    const framed = writeResponse(response)
    assert.equal(framed.readUInt16LE(0), framed.length - LENGTH_BYTES)
    return [...readFields(messageOf(framed))].map((field) => [field.number, textOf(field)])
  }

  assert.deepEqual(fields({ endpointId: 'ep_1', proto: 'http' }), [
    [1, 'ep_1'],
    [2, 'http'],
  ])
  assert.deepEqual(fields({ errorCode: 'ERR', errorMessage: 'No.' }), [
    [3, 'ERR'],
    [4, 'No.'],
  ])
})

test('a damaged request is read as a service, or is malformed', () => {
  const random = createRandom()
  console.log(`seed ${random.seed}`)
  const intact = messageOf(clusterRequest('web.shop', 8080, pod))
  let [read, malformed] = [0, 0]

  for (const _round of rounds(20_000)) {
    try {
      const { host, port } = readRequest(mutate(random, intact))
      assert.ok(/^[a-z0-9._-]+$/.test(host) && port > 0 && port < 65_536, `${host}:${port}`)
      read++
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      malformed++
    }
  }

  assert.ok(read > 0 && malformed > 0, `${read} read, ${malformed} malformed`)
})
