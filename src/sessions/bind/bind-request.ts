/**
 * What bind requests say by themselves, without a session, an account or a server: a second, light front door of this
 * part. The binder reads every request here, and `adit config check` asks here what a server would reject.
 */
import { BindRequest, decode, LabelRequest, protocolError } from '../../protocol/index.ts'
import { toEndpointOptions } from './endpoint-options.ts'
import { parseProto, requestedAddress, requestedName, requestedNonPublic } from './requested-address.ts'

const MAX_TEXT_BYTES = 2048
const MAX_DESCRIPTION_BYTES = 255
const MAX_METADATA_BYTES = 4096

/** The checked parts of a bind request; throws a `ProtocolError`. */
export function readBindRequest(request: BindRequest) {
  const proto = parseProto(request.Proto)
  const {
    Name,
    Description,
    Metadata,
    Bindings = [],
    PoolingEnabled = false,
    PoolingWeight = 1,
  } = request.Extra ?? {}
  const opts = request.Opts ?? {}
  return {
    proto,
    opts,
    bindings: Bindings,
    spec: {
      name: requireMaxBytes('Name', Name, MAX_DESCRIPTION_BYTES),
      description: requireMaxBytes('Description', Description, MAX_DESCRIPTION_BYTES),
      metadata: requireMaxBytes('Metadata', Metadata, MAX_METADATA_BYTES),
      forwardsTo: requireMaxBytes('ForwardsTo', request.ForwardsTo, MAX_TEXT_BYTES),
      forwardsProto: parseForwardsProto(request.ForwardsProto),
      poolingEnabled: PoolingEnabled,
      poolingWeight: PoolingWeight,
      options: toEndpointOptions(proto, opts),
    },
  }
}

/** The same for the request of a labelled tunnel. */
export function readLabelRequest(request: LabelRequest) {
  const labels = Object.entries(request.Labels)
  if (labels.length === 0)
    throw protocolError('options_invalid', 'a labelled tunnel needs at least one label.')
  for (const [key, value] of labels) {
    if (key === '' || value === '' || key.length > 255 || value.length > 255 || /\0/.test(key + value))
      throw protocolError('options_invalid', 'labels have a name and a value of 1 to 255 characters.')
  }
  return {
    address: { labels: { ...request.Labels } },
    metadata: requireMaxBytes('Metadata', request.Metadata, MAX_METADATA_BYTES),
    forwardsTo: requireMaxBytes('ForwardsTo', request.ForwardsTo, MAX_TEXT_BYTES),
    forwardsProto: parseForwardsProto(request.ForwardsProto),
  }
}

/** Throws the `ProtocolError` with which every server rejects the request. */
export function checkRequest(request: BindRequest | LabelRequest): void {
  if ('Labels' in request) {
    readLabelRequest(decode(LabelRequest, request))
    return
  }
  const { proto, opts, bindings } = readBindRequest(decode(BindRequest, request))
  // Names below .internal without a binding are public where the domain of the server is below it.
  if (requestedNonPublic(proto, bindings, opts, 'internal') !== undefined) return
  if (proto === 'tcp') requestedAddress(opts)
  else requestedName(proto, opts, undefined)
}

function parseForwardsProto(text = ''): '' | 'http1' | 'http2' {
  if (text === '' || text === 'http1' || text === 'http2') return text
  throw protocolError(
    'options_invalid',
    `ForwardsProto must be empty, http1 or http2, not "${text.slice(0, 40)}".`,
  )
}

function requireMaxBytes(field: string, text = '', bytes: number): string {
  if (Buffer.byteLength(text) > bytes)
    throw protocolError('options_invalid', `${field} is longer than ${bytes} bytes.`)
  return text
}
