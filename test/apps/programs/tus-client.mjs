// Uploads a file with an interruption and again without one, and fetches both; prints their digests.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { dirname, join } from 'node:path'
import { FileUrlStorage, Upload } from 'tus-js-client'

const [url, file] = process.argv.slice(2)
const CHUNK_BYTES = 1_000_000
const common = {
  endpoint: `${url}/files`,
  chunkSize: CHUNK_BYTES,
  metadata: { filename: 'film.mp4', filetype: 'video/mp4' },
}
const urlStorage = new FileUrlStorage(join(dirname(file), 'uploads'))

/** Uploads until the end, or until as many bytes are stored. */
function upload(options, stopAt = Infinity) {
  return new Promise((resolve, reject) => {
    let first
    const task = new Upload(createReadStream(file), {
      ...common,
      ...options,
      onError: reject,
      onChunkComplete(_size, accepted) {
        first ??= accepted - CHUNK_BYTES
        if (accepted >= stopAt) task.abort().then(() => resolve({ stored: accepted }), reject)
      },
      onSuccess: () => resolve({ url: task.url, resumedAt: first }),
    })
    task.findPreviousUploads().then((previous) => {
      if (previous.length > 0) task.resumeFromPreviousUpload(previous[0])
      task.start()
    }, reject)
  })
}

const { stored } = await upload({ urlStorage }, 6_000_000)
const resumed = await upload({ urlStorage })
const direct = await upload({ uploadDataDuringCreation: true })
const digests = []
for (const each of [resumed.url, direct.url]) {
  if (!each.startsWith(`${url}/`)) throw new Error(`an upload has the location ${each}`)
  const response = await fetch(each)
  if (!response.ok) throw new Error(`${each}: ${response.status}`)
  digests.push(
    createHash('sha256')
      .update(await response.bytes())
      .digest('hex'),
  )
}
console.log(JSON.stringify({ stored, resumedAt: resumed.resumedAt, digests }))
