import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createNoise } from './noise.ts'
import { assertSameUse } from './same-use.ts'

/** Writes an image of three layers as an OCI layout, the same bytes each time. */
function writeImage(dir: string): void {
  const blobs = join(dir, 'blobs', 'sha256')
  mkdirSync(blobs, { recursive: true })
  const put = (bytes: Buffer, mediaType: string) => {
    const hash = createHash('sha256').update(bytes).digest('hex')
    writeFileSync(join(blobs, hash), bytes)
    return {
      mediaType: `application/vnd.oci.image.${mediaType}`,
      digest: `sha256:${hash}`,
      size: bytes.length,
    }
  }
  const putJson = (value: unknown, mediaType: string) => put(Buffer.from(JSON.stringify(value)), mediaType)
  const archives = [1000, 1_000_000, 30_000_000].map((bytes) => createArchive(createNoise(bytes)))
  const layers = archives.map((archive) => put(gzipSync(archive, { level: 1 }), 'layer.v1.tar+gzip'))
  const diff_ids = archives.map((archive) => `sha256:${createHash('sha256').update(archive).digest('hex')}`)
  const config = putJson(
    { architecture: 'amd64', os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids } },
    'config.v1+json',
  )
  const mediaType = 'application/vnd.oci.image.manifest.v1+json'
  const manifest = putJson({ schemaVersion: 2, mediaType, config, layers }, 'manifest.v1+json')
  const annotations = { 'org.opencontainers.image.ref.name': '1.0' }
  const index = { schemaVersion: 2, manifests: [{ ...manifest, annotations }] }
  writeFileSync(join(dir, 'index.json'), JSON.stringify(index))
  writeFileSync(join(dir, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}

/** A tar archive of one file. */
function createArchive(content: Buffer): Buffer {
  const header = Buffer.alloc(512)
  header.write('file')
  header.write(
    ['0000644', '0000000', '0000000', content.length.toString(8).padStart(11, '0'), '00000000000'].join('\0'),
    100,
  )
  header.write('\0        0', 147)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, content, Buffer.alloc(1024 + 512 - (content.length % 512 || 512))])
}

test('a container registry: an image is pushed, inspected, pulled, tagged again and deleted', {
  skip: missingPrograms('docker-registry', 'skopeo'),
}, async (t) => {
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      const dir = createTempDir()
      const config = {
        version: 0.1,
        log: { level: 'error' },
        storage: { filesystem: { rootdirectory: dir }, delete: { enabled: true } },
        http: { addr: `127.0.0.1:${port}` },
      }
      writeFileSync(join(dir, 'config.yml'), JSON.stringify(config))
      await startServiceProgram(t, ['docker-registry', 'serve', join(dir, 'config.yml')], { port })
      return port
    },
    async ({ url, dir, run }) => {
      const { protocol, host } = new URL(url)
      const image = (tag: string) => `docker://${host}/team/app:${tag}`
      const verify = String(protocol === 'https:')
      const skopeo = (command: string, flags: string[], ...args: string[]) =>
        run([
          'skopeo',
          '--insecure-policy',
          '--tmpdir',
          dir,
          command,
          ...flags.map((flag) => `--${flag}=${verify}`),
          ...args,
        ])
      writeImage(join(dir, 'image'))

      await skopeo('copy', ['dest-tls-verify'], 'oci:image:1.0', image('1.0'))
      await skopeo('copy', ['src-tls-verify', 'dest-tls-verify'], image('1.0'), image('latest'))
      await skopeo('copy', ['src-tls-verify'], image('latest'), 'oci:pulled:1.0')
      const tags = await skopeo('list-tags', ['tls-verify'], image('1.0').replace(/:[^:]+$/, ''))
      const manifest = await skopeo('inspect', ['tls-verify'], '--raw', image('1.0'))
      await skopeo('delete', ['tls-verify'], image('1.0'))
      return {
        tags: JSON.parse(tags).Tags.sort(),
        manifest: JSON.parse(manifest),
        pushed: readFileSync(join(dir, 'image', 'index.json'), 'utf8').match(/sha256:\w+/)?.[0],
        pulled: readFileSync(join(dir, 'pulled', 'index.json'), 'utf8').match(/sha256:\w+/)?.[0],
        blobs: await run(['diff', '-r', 'image/blobs', 'pulled/blobs']),
        tagsLeft: JSON.parse(await skopeo('list-tags', ['tls-verify'], image('1.0').replace(/:[^:]+$/, '')))
          .Tags,
      }
    },
  )
  assert.deepEqual(seen?.tags, ['1.0', 'latest'])
  assert.equal(seen.pulled, seen.pushed)
})
