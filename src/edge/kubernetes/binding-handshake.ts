import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { resetSocket } from '../../base/io/streams/reset.ts'
import { MalformedMessage } from '../../base/text/protobuf.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import { newId } from '../../base/values/id.ts'
import type { EdgeRuntime, LiveConnection } from '../contracts/runtime.ts'
import type { TcpHost } from '../contracts/table.ts'
import type { TlsPolicy } from '../contracts/tls-policy.ts'
import { EdgeError, edgeError } from '../errors.ts'
import { Http1ServerConnection } from '../http/http1-connection.ts'
import { ForwardChain } from '../listeners/forward-chain.ts'
import { rejectionOf, TcpProxyConnection } from '../listeners/tcp-proxy.ts'
import type { ClusterClient } from '../listeners/tls.ts'
import { ClusterConnection } from './cluster-connection.ts'
import {
  type ConnectionRequest,
  LENGTH_BYTES,
  MAX_REQUEST_BYTES,
  readRequest,
  writeResponse,
} from './connection-messages.ts'

/** Finds the operator whose current certificate has this fingerprint, and until when that is valid. */
export type FindOperator = (
  fingerprint: string,
) => { readonly id: string; readonly notAfter: number } | undefined

/** The protocols in the order in which an address is looked up: a request does not name one. */
const PROTOS = ['http', 'tls', 'tcp'] as const

/**
 * A connection of a Kubernetes cluster from the end of its TLS handshake to the response to its request. Then it belongs to
 * the endpoint: the bytes that follow are those of a client in the cluster.
 */
export class BindingHandshake extends TimerEntry implements LiveConnection {
  readonly #runtime: EdgeRuntime
  readonly #client: ClusterClient
  readonly #findOperator: FindOperator
  readonly #received = new ByteQueue()

  constructor(runtime: EdgeRuntime, client: ClusterClient, findOperator: FindOperator) {
    super()
    this.#runtime = runtime
    this.#client = client
    this.#findOperator = findOperator
    runtime.connections.add(this)
    runtime.timers.set(this, runtime.limits.handshake)
    client.socket.on('data', this.#onData)
    client.socket.on('end', this.destroy)
    client.socket.on('close', this.#release)
  }

  drain(): void {}

  readonly destroy = (): void => {
    this.#client.socket.destroy()
  }

  revalidate(): void {}

  onDeadline(): void {
    this.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#received.push(chunk)
    const { bytes } = this.#received
    if (bytes.length < LENGTH_BYTES) return
    const end = LENGTH_BYTES + bytes.readUInt16LE(0)
    const isTooLong = end > LENGTH_BYTES + MAX_REQUEST_BYTES
    if (!isTooLong && bytes.length < end) return
    const { socket } = this.#client
    socket.pause()
    socket.off('data', this.#onData)
    try {
      if (isTooLong) throw edgeError('binding_request_invalid', `it has more than ${MAX_REQUEST_BYTES} bytes`)
      // Those of a client in the cluster that did not wait for the response.
      if (bytes.length > end) socket.unshift(bytes.subarray(end))
      this.#accept(this.#authenticate(), this.#parse(bytes.subarray(LENGTH_BYTES, end)))
    } catch (error) {
      this.#reject(error)
    }
  }

  #authenticate(): string {
    const operator = this.#findOperator(this.#client.info.peer?.fingerprint ?? '')
    if (operator === undefined) throw edgeError('operator_unknown')
    const isValid = this.#runtime.clock.now() < operator.notAfter
    if (!isValid) throw edgeError('operator_certificate_expired')
    return operator.id
  }

  #parse(message: Buffer): ConnectionRequest {
    try {
      return readRequest(message)
    } catch (error) {
      if (error instanceof MalformedMessage) throw edgeError('binding_request_invalid', error.message)
      throw error
    }
  }

  #accept(operatorId: string, { host, port, pod }: ConnectionRequest): void {
    const runtime = this.#runtime
    for (const proto of PROTOS) {
      const service = { operatorId, proto, host, port }
      // Each request gets the next endpoint of the pool.
      const found =
        proto === 'http' ? runtime.clusterServices.current(service) : runtime.clusterServices.next(service)
      if (found === undefined) continue
      const connection = new ClusterConnection(runtime, this.#client, service, pod)
      if (found.kind === 'http') this.#startHttp(connection, found.id)
      else this.#startTcp(connection, found)
      return
    }
    throw edgeError('service_not_found', joinHostPort(host, port))
  }

  #startHttp(connection: ClusterConnection, hostId: string): void {
    const { socket, transport } = this.#client
    this.#respond(connection, hostId)
    this.#release()
    new Http1ServerConnection(this.#runtime, socket, transport, connection)
    socket.resume()
  }

  #startTcp(connection: ClusterConnection, host: TcpHost): void {
    const { service } = connection
    const chain = new ForwardChain(this.#runtime, host, service.proto === 'tls')
    const rejection = rejectionOf(this.#runtime, connection, chain)
    if (rejection !== undefined) throw rejection
    const { tlsPolicy } = chain.last
    if (tlsPolicy !== undefined) {
      this.#respond(connection, host.id)
      this.#terminate(connection, chain, tlsPolicy)
      return
    }
    if (!chain.prepare(connection))
      throw edgeError('service_unreachable', joinHostPort(service.host, service.port))
    this.#respond(connection, host.id)
    this.#release()
    this.#startProxy(connection, chain, this.#client.socket)
    this.#client.socket.resume()
  }

  /** The client in the cluster speaks TLS, which ends here. */
  #terminate({ service, pod }: ClusterConnection, chain: ForwardChain, tlsPolicy: TlsPolicy): void {
    const runtime = this.#runtime
    this.#client.terminate(tlsPolicy, (socket, info) => {
      this.#release()
      const connection = new ClusterConnection(runtime, { ...this.#client, socket }, service, pod, {
        tlsPolicy,
        info,
      })
      chain.passthroughTls = false
      if (rejectionOf(runtime, connection, chain, 'securedConnectionSteps') === undefined)
        this.#startProxy(connection, chain, socket)
      else resetSocket(this.#client.transport, socket)
    })
  }

  #startProxy(connection: ClusterConnection, chain: ForwardChain, socket: ClusterClient['socket']): void {
    const runtime = this.#runtime
    TcpProxyConnection.start({
      runtime,
      socket,
      transport: this.#client.transport,
      connection,
      chain,
      initialBytes: undefined,
      currentHost() {
        const host = runtime.clusterServices.current(connection.service)
        return host?.kind === 'tcp' ? host : undefined
      },
    })
  }

  #respond({ service: { proto } }: ClusterConnection, hostId: string): void {
    const endpointId = hostId.replace(/^tn_/, 'ep_')
    this.#client.socket.write(writeResponse({ endpointId, proto }))
  }

  /** Ends the connection with the reason. What the cluster still sends is read, so that a reset does not destroy it. */
  #reject(error: unknown): void {
    const { code, text } = error instanceof EdgeError ? error : this.#logInternal(error)
    const { socket } = this.#client
    socket.end(writeResponse({ errorCode: code, errorMessage: text }))
    socket.resume()
    this.#runtime.timers.set(this, this.#runtime.limits.linger)
  }

  #logInternal(err: unknown): EdgeError {
    const id = newId('err')
    this.#runtime.log.error({ err, id }, 'connection of a cluster failed with an internal error')
    return edgeError('internal', id)
  }

  readonly #release = (): void => {
    const { socket } = this.#client
    socket.off('data', this.#onData)
    socket.off('end', this.destroy)
    this.#runtime.connections.delete(this)
    this.#runtime.timers.clear(this)
  }
}
