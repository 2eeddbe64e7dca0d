// Chats by both transports; prints what was received.
import { once } from 'node:events'
import { io } from 'socket.io-client'

const url = process.argv[2]
const seen = {}
for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
  const socket = io(url, { transports, forceNew: true })
  await once(socket, 'connect')
  if (transports.length === 2) {
    if (socket.io.engine.transport.name !== 'websocket') await once(socket.io.engine, 'upgrade')
    seen.upgraded = socket.io.engine.transport.name
  }
  await socket.emitWithAck('join', 'lobby')
  const said = []
  let reached = () => {}
  socket.on('said', (text) => {
    said.push(text)
    reached()
  })
  const receive = (count) =>
    new Promise((resolve) => {
      reached = () => said.length >= count && resolve()
      reached()
    })
  for (let index = 0; index < 300; index++) socket.emit('say', 'lobby', `hello ${index} ☕`)
  await receive(300)
  const digest = await socket.emitWithAck('upload', Buffer.alloc(5_000_000, 'binary'))
  if (transports.length === 2) {
    const back = once(socket, 'connect')
    socket.emit('lose')
    await back
    seen.recovered = socket.recovered
    await receive(301)
  }
  seen[transports.join()] = { said, digest }
  socket.disconnect()
}
console.log(JSON.stringify(seen))
