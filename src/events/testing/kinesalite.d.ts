declare module 'kinesalite' {
  import type { Server } from 'node:http'
  export default function kinesalite(options?: { createStreamMs?: number; path?: string }): Server
}
