package auth

const RecoveryMany = recoveryMany

var (
	CodeAt   = codeAt
	CodeText = codeText
)
