// A chat service.
import { createHash } from 'node:crypto'
import { Server } from 'socket.io'

const server = new Server({ connectionStateRecovery: {}, maxHttpBufferSize: 1e8 })
server.on('connection', (socket) => {
  socket.on('join', async (room, done) => {
    await socket.join(room)
    done()
  })
  socket.on('say', (room, text) => server.to(room).emit('said', text))
  socket.on('upload', (bytes, done) => done(createHash('sha256').update(bytes).digest('hex')))
  // Like a lost connection: the client is not told.
  socket.on('lose', () => {
    socket.conn.close()
    server.to('lobby').emit('said', 'while away')
  })
})
server.listen(Number(process.argv[2]))
