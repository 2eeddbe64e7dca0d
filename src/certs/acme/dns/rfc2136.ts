import { randomInt } from 'node:crypto'
import { type Answer, type DecodedPacket, decode, encode } from 'dns-packet'
import { exchangeMessage } from '../../../base/io/streams/length-prefixed.ts'
import { createDial } from '../../../base/outbound/guarded-dial.ts'
import { errorMessage } from '../../../base/text/error-message.ts'
import { parseHostPort } from '../../../base/values/hostport.ts'
import {
  CHALLENGE_TTL,
  DnsProviderError,
  defineProvider,
  type ProviderContext,
  type ProviderZone,
  retryTransient,
} from './provider.ts'
import { isSigned, signMessage, TSIG_ALGORITHMS, type TsigKey, verifyResponse } from './tsig.ts'

const DNS_PORT = 53
const TIMEOUT_MS = 10_000
const HEADER_BYTES = 12
/** The opcode UPDATE in the flags of a message (RFC 2136 section 2.2). */
const UPDATE = 5 << 11
const RCODE = 0x000f
/** Deletes one record of a set (RFC 2136 section 2.5.4); the codec does not know this class. */
const CLASS_NONE = 254

const RCODES: Readonly<Record<number, string>> = {
  1: 'it could not read the message (FORMERR)',
  2: 'it failed (SERVFAIL)',
  4: 'it does not support updates (NOTIMP)',
  5: 'the key may not change this name; see allow-update or update-policy of the zone (REFUSED)',
  9: 'it is not authoritative for the zone (NOTAUTH)',
  10: 'the name is not in the zone (NOTZONE)',
}

/** Any name server that takes dynamic updates (RFC 2136) signed with a shared key (TSIG), such as BIND, Knot and PowerDNS. */
export const rfc2136 = defineProvider({
  title: 'RFC 2136',
  variables: {
    nameserver: { names: ['RFC2136_NAMESERVER'] },
    keyName: { names: ['RFC2136_TSIG_KEY'] },
    secret: { names: ['RFC2136_TSIG_SECRET'] },
    algorithm: { names: ['RFC2136_TSIG_ALGORITHM'], fallback: 'hmac-sha256' },
  },
  open({ nameserver, keyName, secret, algorithm }, context) {
    const server = parseServer(nameserver)
    const exchange = createExchange(server, parseKey(keyName, secret, algorithm), context)

    async function update(
      zone: ProviderZone,
      records: readonly Answer[],
      recordClass?: number,
    ): Promise<void> {
      const message = encode({
        type: 'query',
        id: randomInt(65_536),
        flags: UPDATE,
        questions: [{ name: zone.id, type: 'SOA', class: 'IN' }],
        authorities: [...records],
      })
      if (recordClass !== undefined) setClasses(message, zone, records, recordClass)
      await exchange(message)
    }

    return {
      async findZone(name) {
        const query = encode({
          type: 'query',
          id: randomInt(65_536),
          questions: [{ name, type: 'SOA', class: 'IN' }],
        })
        const { flag_aa, answers = [], authorities = [] } = await exchange(query, { anyResult: true })
        // A name that does not exist, or has no SOA record, is answered with that of its zone.
        const soa = [...answers, ...authorities].find(({ type }) => type === 'SOA')
        const zone = soa?.name.toLowerCase()
        return flag_aa && zone !== undefined ? { id: zone, name: zone } : undefined
      },
      addTxt: (zone, name, values) =>
        update(
          zone,
          values.map((data) => ({ type: 'TXT', class: 'IN', ttl: CHALLENGE_TTL, name, data })),
        ),
      removeTxt: (zone, name, values) =>
        update(
          zone,
          values.map((data) => ({ type: 'TXT', ttl: 0, name, data })),
          CLASS_NONE,
        ),
    }
  },
})

interface Server {
  readonly host: string
  readonly port: number
}

function parseServer(text: string): Server {
  const { host, port = DNS_PORT } = parseHostPort(text) ?? {}
  if (host === undefined)
    throw new Error(`RFC2136_NAMESERVER is "${text}"; write host or host:port, such as 192.0.2.53:53.`)
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port }
}

function parseKey(name: string, secret: string, algorithm: string): TsigKey {
  const known = Object.keys(TSIG_ALGORITHMS) as TsigKey['algorithm'][]
  const match = known.find((each) => each === algorithm.toLowerCase().replace(/\.$/, ''))
  if (match === undefined)
    throw new Error(`RFC2136_TSIG_ALGORITHM is "${algorithm}"; write one of ${known.join(', ')}.`)
  // A single label, as tsig-keygen writes it, is a name too.
  if (!/^[!-~]{1,253}$/.test(name) || name.split('.').some((label) => label.length > 63))
    throw new Error(`RFC2136_TSIG_KEY is not the name of a key, such as adit-key.`)
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(secret))
    throw new Error('RFC2136_TSIG_SECRET is not base64; copy it as tsig-keygen printed it.')
  return { name, algorithm: match, secret: Buffer.from(secret, 'base64') }
}

/** Creates the function that sends a signed message and returns the verified response. */
function createExchange(server: Server, key: TsigKey, { signal }: ProviderContext) {
  const { host, port } = server
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  // The operator names this server, often a private one; nothing else can be dialled here.
  const dial = createDial({ allow: [address] })

  async function send(bytes: Buffer): Promise<Buffer> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    const socket = dial({ host, port })
    const abort = () => socket.destroy(new Error('no answer in time'))
    deadline.addEventListener('abort', abort, { once: true })
    try {
      return await exchangeMessage(socket, bytes)
    } catch (error) {
      const message = `The name server ${address} cannot be reached: ${errorMessage(error)}.`
      throw new DnsProviderError(message, { transient: true, cause: error })
    } finally {
      deadline.removeEventListener('abort', abort)
      socket.on('error', () => {})
      socket.destroy()
    }
  }

  return (message: Buffer, { anyResult = false } = {}): Promise<DecodedPacket> =>
    retryTransient(signal, async () => {
      const { bytes, mac } = signMessage(message, key, Date.now())
      const response = await send(bytes)
      try {
        const rcode = response.readUInt16BE(2) & RCODE
        const reason = RCODES[rcode] ?? `it answered with code ${rcode}`
        // An error may come unsigned: it changes nothing, so it needs no proof.
        if (rcode !== 0 && !isSigned(response)) throw new Error(reason)
        verifyResponse(response, key, mac, Date.now())
        if (!response.subarray(0, 2).equals(message.subarray(0, 2)))
          throw new Error('the response belongs to another request')
        if (rcode !== 0 && !anyResult) throw new Error(reason)
        return decode(response)
      } catch (error) {
        const details = `with the key ${key.name}: ${errorMessage(error)}`
        throw new DnsProviderError(`The name server ${address} rejected a request ${details}.`, {
          cause: error,
        })
      }
    })
}

/** Sets the class of all records of an update. The codec writes no compression pointers, so every length is known. */
function setClasses(
  message: Buffer,
  zone: ProviderZone,
  records: readonly Answer[],
  recordClass: number,
): void {
  let offset = HEADER_BYTES + nameBytes(zone.id) + 4
  for (const { name } of records) {
    const fields = offset + nameBytes(name)
    message.writeUInt16BE(recordClass, fields + 2)
    offset = fields + 10 + message.readUInt16BE(fields + 8)
  }
}

/** The length of a name in wire format: a length byte before each label, and the root. */
function nameBytes(name: string): number {
  return name.length + 2
}
