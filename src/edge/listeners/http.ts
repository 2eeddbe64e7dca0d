import { createServer, type Server } from 'node:net'
import { Admission, type AdmissionLimits } from '../../base/io/admission.ts'
import type { Core } from '../core.ts'
import { Http1ServerConnection } from '../http/http1-connection.ts'
import { SocketConnection } from './socket-connection.ts'

/** Creates the plain HTTP listener. */
export function createHttpListener(core: Core, limits: AdmissionLimits): Server {
  const admission = new Admission(limits)
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const ends = admission.admit(socket)
    if (ends !== undefined)
      new Http1ServerConnection(core, socket, socket, new SocketConnection(ends, 'http', core.clock.now()))
  })
  server.maxConnections = limits.total
  return server
}
