import { parentPort, workerData } from 'node:worker_threads'
import { StoreUnavailable } from '../../store.ts'
import type { SqliteError } from './sqlite-errors.ts'
import { SqliteWriter, type SqliteWriterOptions } from './sqlite-writer.ts'
import type { WriterCall, WriterReply } from './sqlite-writer-thread.ts'

// The worker of `sqlite-writer-thread.ts`.
const port = parentPort!
let writer: SqliteWriter | undefined

port.on('message', (call: WriterCall) => port.postMessage(reply(call)))

function reply({ method, args }: WriterCall): WriterReply {
  try {
    writer ??= new SqliteWriter(workerData as SqliteWriterOptions)
    return { result: Reflect.apply(writer[method], writer, args) }
  } catch (error) {
    const { message, code, errcode } = (
      error instanceof StoreUnavailable ? error.cause : error
    ) as SqliteError
    return { error: { message, code, errcode } }
  } finally {
    if (method === 'close') port.close()
  }
}
