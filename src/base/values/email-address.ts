/** Whoever accepts mail there knows better: it has one @ and no spaces. */
export const EMAIL_ADDRESS = /^[^@\s]+@[^@\s]+$/
