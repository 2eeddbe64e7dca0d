import type { Server } from 'node:net'

/**
 * Bytes that the kernel accepts for a connection beyond those it may send at once. By itself it accepts up to 4 MiB, so that a
 * thousand visitors who do not read fill the kernel's TCP memory, and the connections of agents stall with theirs.
 */
const MAX_UNSENT_BYTES = 32 * 1024

// From the headers of Linux, as are the names.
const IPPROTO_TCP = 6
const TCP_NOTSENT_LOWAT = 25

/**
 * Limits the unsent bytes of all connections that a listener accepts: they inherit the option. Node has no call for it, and
 * before version 26.1 no foreign functions either; there the operator sets `net.ipv4.tcp_notsent_lowat`.
 */
export function limitUnsentBytes(server: Server): void {
  const fd = descriptorOf(server)
  if (process.platform !== 'linux' || fd === undefined) return
  const ffi = loadForeignFunctions()
  if (ffi === undefined) return
  const { lib, functions } = ffi.dlopen(null, {
    setsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' },
  })
  const value = Buffer.alloc(4)
  value.writeInt32LE(MAX_UNSENT_BYTES)
  functions.setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, value, value.length)
  lib.close()
}

/** The file descriptor of a listener or connection, which Node does not promise to show. */
function descriptorOf(server: Server & { readonly _handle?: { readonly fd?: number } }): number | undefined {
  return server._handle?.fd
}

/** Loads the module without the warning that it is experimental, which operators could do nothing about. */
function loadForeignFunctions(): typeof import('node:ffi') | undefined {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:ffi') as typeof import('node:ffi') | undefined
  } finally {
    process.emitWarning = emitWarning
  }
}
