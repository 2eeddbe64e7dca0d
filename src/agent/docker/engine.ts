import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import { CommandFailure } from '../../base/process/command-line.ts'

/** A running container, as far as the agent needs it. */
export interface Container {
  readonly id: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** Its address in the first of its networks; undefined in the network of the host. */
  readonly address: string | undefined
}

const DEFAULT_HOST = 'unix:///var/run/docker.sock'
const LIST_TIMEOUT_MS = 10_000
const MAX_LIST_BYTES = 32 * 1024 * 1024

/** What can start or stop a container, or change its name. Podman filters by `died` what it then reports as `die`. */
const EVENTS = { type: ['container'], event: ['start', 'die', 'died', 'pause', 'unpause', 'rename'] }

/** The API of a container engine (Docker, or Podman's compatible socket) at `DOCKER_HOST`. */
export class ContainerEngine {
  readonly host: string
  readonly #target: RequestOptions

  constructor(host = DEFAULT_HOST) {
    this.host = host
    this.#target = parseHost(host)
  }

  /** The containers that run. */
  async list(signal: AbortSignal): Promise<Container[]> {
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)])
    const response = await this.#get('/containers/json', timeout)
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_LIST_BYTES) throw new Error('the list of containers is too long')
      chunks.push(chunk)
    }
    return (JSON.parse(Buffer.concat(chunks).toString()) as ListedContainer[]).map(toContainer)
  }

  /** Calls `onEvent` once events are followed and whenever one arrives. Ends with the stream. */
  async follow(signal: AbortSignal, onEvent: () => void): Promise<void> {
    const filters = encodeURIComponent(JSON.stringify(EVENTS))
    const response = await this.#get(`/events?filters=${filters}`, signal)
    onEvent()
    // Which container it was does not matter: the list is read again.
    for await (const _ of response) onEvent()
  }

  #get(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const call = request({ ...this.#target, path, signal, headers: { host: 'docker' } }, (response) => {
      if (response.statusCode === 200) return resolve(response)
      response.resume()
      reject(new Error(`the container engine answered ${path} with ${response.statusCode}`))
    })
    call.once('error', reject)
    call.end()
    return promise
  }
}

/** The part of an answer of `GET /containers/json` that is used. */
interface ListedContainer {
  readonly Id: string
  readonly Names?: readonly string[]
  readonly Labels?: Readonly<Record<string, string>> | null
  readonly NetworkSettings?: { readonly Networks?: Readonly<Record<string, { readonly IPAddress?: string }>> }
}

function toContainer({ Id, Names, Labels, NetworkSettings }: ListedContainer): Container {
  const addresses = Object.values(NetworkSettings?.Networks ?? {}).map(({ IPAddress }) => IPAddress)
  return {
    id: Id,
    name: Names?.[0]?.replace(/^\//, '') ?? Id.slice(0, 12),
    labels: Labels ?? {},
    address: addresses.find((address) => address !== undefined && address !== ''),
  }
}

function parseHost(host: string): RequestOptions {
  const [, path] = /^unix:\/\/(\/.+)$/.exec(host) ?? []
  if (path !== undefined) return { socketPath: path }
  const url = URL.parse(host.replace(/^tcp:/, 'http:'))
  if (url?.protocol === 'http:' && url.hostname !== '')
    return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port || 2375 }
  throw new CommandFailure(
    `"${host}" is not the address of a container engine; write unix:///var/run/docker.sock or tcp://host:2375`,
  )
}
