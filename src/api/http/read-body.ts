import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { ByteBudgets } from '../../base/io/memory/byte-budget.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { coalescePausedReads } from '../../base/io/streams/coalesced-reads.ts'
import { problem } from '../problems.ts'

const MIB = 1024 * 1024

/** Memory budgets of incomplete bodies; each body is at most 1 MiB. */
const BODY_BUDGETS = { perConnection: 2 * MIB, perSource: 32 * MIB, total: 64 * MIB }

export type BodyReader = ReturnType<typeof createBodyReader>

/** Reads each body into one buffer; Fastify's own parsers keep a list of chunks. */
export function createBodyReader(bodyLimit: number, isShared?: (ip: string) => boolean) {
  const budgets = new ByteBudgets({ ...BODY_BUDGETS, isShared })
  return {
    /** Packs the reads of a request. Call it synchronously, so that data arriving before the body is read is packed too. */
    coalesceReads({ raw }: FastifyRequest): void {
      coalescePausedReads(raw)
    },

    /** A content type parser that passes the whole body to `parse`, which returns the handler's value or throws. */
    parser(parse: (request: FastifyRequest, body: Buffer) => unknown) {
      return async (request: FastifyRequest, payload: IncomingMessage): Promise<unknown> => {
        const limit = request.routeOptions.bodyLimit ?? bodyLimit
        if (Number(request.headers['content-length']) > limit) throw problem('too_large', limit)
        const queue = new ByteQueue(limit, budgets.forClient(request.ip))
        try {
          await collect(payload, queue, limit)
          return parse(request, queue.bytes)
        } finally {
          queue.clear()
        }
      }
    },
  }
}

function collect(payload: IncomingMessage, queue: ByteQueue, limit: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onData = (chunk: Buffer): void => {
    if (queue.push(chunk)) return
    payload.off('data', onData)
    const isTooLarge = queue.length + chunk.length > limit
    reject(isTooLarge ? problem('too_large', limit) : problem('too_many_bodies'))
  }
  payload.on('data', onData)
  payload.once('end', resolve)
  payload.once('error', reject)
  payload.once('close', () => reject(problem('bad_request', 'its body ended early.')))
  return promise
}
