// Receives uploads into a directory.
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'

const [port, directory] = process.argv.slice(2)
const server = new Server({
  path: '/files',
  datastore: new FileStore({ directory }),
  // The locations of uploads have the public name and scheme.
  respectForwardedHeaders: true,
})
server.listen({ port: Number(port), host: '127.0.0.1' })
