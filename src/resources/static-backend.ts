import { isIP } from 'node:net'
import { parseDomainPort } from '../base/values/domain.ts'
import { common, defineResource, editable } from './schema/define.ts'
import { described, flag, object, parsed, required } from './schema/value.ts'

/** Parses `host:port`; the host may be an IP address, IPv6 in brackets. */
function upstreamAddress(text: string): string {
  const literal = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):([0-9]{1,5})$/.exec(text.trim())
  if (literal !== null) {
    const port = Number(literal[3])
    const address = literal[1] ?? literal[2] ?? ''
    if (isIP(address) === 0 || port < 1 || port > 65_535)
      throw new Error(`"${text}" is not an address with a port.`)
    return text.trim()
  }
  const { host, port } = parseDomainPort(text)
  return `${host}:${port}`
}

/** Sends traffic to a fixed address that the server can reach. */
export const StaticBackend = defineResource({
  name: 'static backend',
  description: 'Backends that send traffic to an address that the server can reach.',
  path: '/backends/static',
  prefix: 'bkdsc',
  listKey: 'backends',
  event: 'static_backend',
  fields: {
    ...common,
    address: editable(
      required(parsed(300, upstreamAddress)),
      'The host and port of the upstream service, such as 192.0.2.10:8080.',
      '192.0.2.10:8080',
    ),
    tls: editable(
      object({ enabled: described(flag(false), 'Whether to use TLS.') }),
      'Whether to connect to the upstream service over TLS.',
    ),
  },
})
