import { readCertificateAuthority, readTlsCertificate } from '../../../certs/index.ts'
import { CertificateAuthority, TlsCertificate } from '../../../resources/index.ts'
import { crud } from '../../crud/crud.ts'
import { problem } from '../../problems.ts'

export const certificateAuthorities = crud(CertificateAuthority, {
  async prepare(record, { existing }) {
    return {
      record: existing === undefined ? { ...record, ...readCertificateAuthority(record.ca_pem) } : record,
    }
  },
})

export const tlsCertificates = crud(TlsCertificate, {
  async prepare(record, { existing }) {
    if (existing !== undefined) return { record }
    return { record: { ...record, ...readTlsCertificate(record.certificate_pem, record.private_key_pem) } }
  },
  async beforeRemove(row) {
    if (row.data.managed === true)
      throw problem(
        'conflict',
        'This certificate is managed automatically; detach the certificate management policy of its domain first.',
      )
  },
})
