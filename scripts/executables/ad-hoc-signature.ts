import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'

/*
 * Ad-hoc code signatures of macOS programs: the hashes of all pages, without a key or an identity. macOS on Apple silicon
 * runs nothing without one, and Node removes that of the runtime when it adds its blob. Neither npm, Debian nor PyPI has a
 * tool that writes one on Linux (decision 163). The structures are those of Apple's `cs_blobs.h` and `mach-o/loader.h`; the
 * flags are those of linkers, which sign in the same way.
 */
const MACH_O_64 = 0xfeedfacf
const LC_SEGMENT_64 = 0x19
const LC_CODE_SIGNATURE = 0x1d
const MACH_HEADER_BYTES = 32
const SIGNATURE_COMMAND_BYTES = 16
const SEGMENT_COMMAND_BYTES = 72

const SUPER_BLOB = 0xfade0cc0
const SUPER_BLOB_BYTES = 20
const CODE_DIRECTORY = 0xfade0c02
const CODE_DIRECTORY_BYTES = 88
const CODE_DIRECTORY_VERSION = 0x20400
const ADHOC_AND_LINKER_SIGNED = 0x20002
const MAIN_BINARY = 1n
const SHA256 = 2
const SHA256_BYTES = 32
const PAGE_BITS = 12
const PAGE_BYTES = 1 << PAGE_BITS
/** The larger page of the two architectures; the last segment may be longer than its content. */
const SEGMENT_ALIGNMENT = 0x4000n

interface Segment {
  /** Where its load command is. */
  readonly command: number
  readonly fileOffset: bigint
  readonly fileBytes: bigint
}

/** Signs an unsigned macOS program in place. */
export async function signAdHoc(file: string, identifier: string): Promise<void> {
  await writeFile(file, withAdHocSignature(await readFile(file), identifier))
}

/** The program with an ad-hoc signature at its end; throws if it is none or has a signature. */
export function withAdHocSignature(program: Buffer, identifier: string): Buffer {
  const segments = readSegments(program)
  const text = segments.get('__TEXT')
  const linkEdit = segments.get('__LINKEDIT')
  if (!text || !linkEdit) throw new Error('the program has no segments __TEXT and __LINKEDIT')
  const offset = Math.ceil(program.length / 16) * 16
  const image = Buffer.concat([program, Buffer.alloc(offset - program.length)])
  const length = signatureLength(offset, identifier)

  const fileBytes = BigInt(offset + length) - linkEdit.fileOffset
  const memoryBytes = ((fileBytes + SEGMENT_ALIGNMENT - 1n) / SEGMENT_ALIGNMENT) * SEGMENT_ALIGNMENT
  image.writeBigUInt64LE(memoryBytes, linkEdit.command + 32)
  image.writeBigUInt64LE(fileBytes, linkEdit.command + 48)
  addSignatureCommand(image, offset, length)
  return Buffer.concat([image, createSignature(image, identifier, text)])
}

/** The hash of each page of a program up to its signature. */
export function hashPages(image: Buffer): Buffer[] {
  const pages = Array.from({ length: Math.ceil(image.length / PAGE_BYTES) }, (_, page) => page * PAGE_BYTES)
  return pages.map((start) =>
    createHash('sha256')
      .update(image.subarray(start, start + PAGE_BYTES))
      .digest(),
  )
}

function readSegments(program: Buffer): Map<string, Segment> {
  if (program.readUInt32LE(0) !== MACH_O_64) throw new Error('not a 64-bit program for macOS')
  const segments = new Map<string, Segment>()
  const commands = program.readUInt32LE(16)
  for (let index = 0, command = MACH_HEADER_BYTES; index < commands; index++) {
    const kind = program.readUInt32LE(command)
    if (kind === LC_CODE_SIGNATURE) throw new Error('the program is signed already')
    if (kind === LC_SEGMENT_64) {
      const name = program.toString('latin1', command + 8, command + 24).replace(/\0+$/, '')
      const fileOffset = program.readBigUInt64LE(command + 40)
      segments.set(name, { command, fileOffset, fileBytes: program.readBigUInt64LE(command + 48) })
    }
    command += program.readUInt32LE(command + 4)
  }
  return segments
}

/** Appends a load command; linkers leave room behind the others. */
function addSignatureCommand(image: Buffer, offset: number, length: number): void {
  const [commands, bytes] = [image.readUInt32LE(16), image.readUInt32LE(20)]
  const command = MACH_HEADER_BYTES + bytes
  const room = image.subarray(command, command + SIGNATURE_COMMAND_BYTES)
  if (command + SIGNATURE_COMMAND_BYTES > firstSectionOffset(image) || room.some((byte) => byte !== 0))
    throw new Error('the program has no room for the load command of a signature')
  image.writeUInt32LE(commands + 1, 16)
  image.writeUInt32LE(bytes + SIGNATURE_COMMAND_BYTES, 20)
  image.writeUInt32LE(LC_CODE_SIGNATURE, command)
  image.writeUInt32LE(SIGNATURE_COMMAND_BYTES, command + 4)
  image.writeUInt32LE(offset, command + 8)
  image.writeUInt32LE(length, command + 12)
}

/** Where the first section of the program's code begins, which the load commands must not reach. */
function firstSectionOffset(image: Buffer): number {
  const text = readSegments(image).get('__TEXT')!
  return image.readUInt32LE(text.command + SEGMENT_COMMAND_BYTES + 48)
}

function signatureLength(codeBytes: number, identifier: string): number {
  const pages = Math.ceil(codeBytes / PAGE_BYTES)
  return SUPER_BLOB_BYTES + CODE_DIRECTORY_BYTES + identifier.length + 1 + pages * SHA256_BYTES
}

/** A code directory alone in its container. All numbers of a signature are big-endian, unlike those of the program. */
function createSignature(image: Buffer, identifier: string, text: Segment): Buffer {
  const hashes = hashPages(image)
  const length = signatureLength(image.length, identifier)
  const signature = Buffer.alloc(length)
  const directory = signature.subarray(SUPER_BLOB_BYTES)
  writeNumbers(signature, [SUPER_BLOB, length, 1, 0, SUPER_BLOB_BYTES])
  const hashOffset = CODE_DIRECTORY_BYTES + identifier.length + 1
  writeNumbers(directory, [
    CODE_DIRECTORY,
    directory.length,
    CODE_DIRECTORY_VERSION,
    ADHOC_AND_LINKER_SIGNED,
    hashOffset,
    CODE_DIRECTORY_BYTES,
    0, // special slots
    hashes.length,
    image.length,
  ])
  directory.set([SHA256_BYTES, SHA256, 0, PAGE_BITS], 36)
  directory.writeBigUInt64BE(text.fileOffset, 64)
  directory.writeBigUInt64BE(text.fileBytes, 72)
  directory.writeBigUInt64BE(MAIN_BINARY, 80)
  directory.write(identifier, CODE_DIRECTORY_BYTES, 'latin1')
  for (const [page, hash] of hashes.entries()) directory.set(hash, hashOffset + page * SHA256_BYTES)
  return signature
}

function writeNumbers(target: Buffer, numbers: readonly number[]): void {
  for (const [index, number] of numbers.entries()) target.writeUInt32BE(number, index * 4)
}
