import {
  bytesOf,
  encodeText,
  integerOf,
  MalformedMessage,
  readFields,
  textOf,
  type WireField,
} from '../../base/text/protobuf.ts'
import { isHostName } from '../../base/values/hostport.ts'
import type { PodSource } from '../../policy/index.ts'

/** The bytes of the length before each message. */
export const LENGTH_BYTES = 2

/** Max bytes of a request; the largest part of it are the annotations of a pod. */
export const MAX_REQUEST_BYTES = 16 * 1024

/** The first message of a cluster on a connection. */
export interface ConnectionRequest {
  /** The service that a client in the cluster has connected to. */
  readonly host: string
  readonly port: number
  /** The pod of that client; undefined when the cluster does not know it. */
  readonly pod: PodSource | undefined
}

/** The response: the endpoint that the connection now belongs to, or why it belongs to none. */
export type ConnectionResponse =
  | { readonly endpointId: string; readonly proto: string }
  | { readonly errorCode: string; readonly errorMessage: string }

/** Parses a request. Fields that are not known are ignored, as in every message of this format. */
export function readRequest(message: Buffer): ConnectionRequest {
  let host = ''
  let port = 0n
  let pod: PodSource | undefined
  for (const field of readFields(message)) {
    if (field.number === 1) host = textOf(field).toLowerCase()
    else if (field.number === 2) port = integerOf(field)
    else if (field.number === 3) pod = readPod(bytesOf(field))
  }
  if (!isHostName(host)) throw new MalformedMessage('it names no host')
  if (port < 1n || port > 65_535n) throw new MalformedMessage('it names no port')
  return { host, port: Number(port), pod }
}

/** Clusters send an empty identity for a client that is no pod. */
function readPod(message: Buffer): PodSource | undefined {
  let [id, name, namespace] = ['', '', '']
  const annotations = new Map<string, string>()
  for (const field of readFields(message)) {
    if (field.number === 1) id = textOf(field)
    else if (field.number === 2) name = textOf(field)
    else if (field.number === 3) namespace = textOf(field)
    else if (field.number === 4) annotations.set(...readEntry(field))
  }
  return id === '' ? undefined : { id, name, namespace, annotations }
}

/** An entry of a map is a message with its key and its value. */
function readEntry(entry: WireField): [key: string, value: string] {
  let [key, value] = ['', '']
  for (const field of readFields(bytesOf(entry))) {
    if (field.number === 1) key = textOf(field)
    else if (field.number === 2) value = textOf(field)
  }
  return [key, value]
}

/** Writes a response with its length. */
export function writeResponse(response: ConnectionResponse): Buffer {
  const message =
    'errorCode' in response
      ? Buffer.concat([encodeText(3, response.errorCode), encodeText(4, response.errorMessage)])
      : Buffer.concat([encodeText(1, response.endpointId), encodeText(2, response.proto)])
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16LE(message.length)
  return Buffer.concat([length, message])
}
