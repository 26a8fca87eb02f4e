/* Functions that the compiler makes twice: for any processor, and for those with BMI2 (since Haswell and Excavator), where
   a shift by a number in a register is one step, not three, and no register is tied to it. The loader chooses.
   Needs GCC, and a C library whose loader can do so. Sanitizers watch the function that chooses before they have begun. */

#ifndef STEPDOWN_CLONES_H
#define STEPDOWN_CLONES_H

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define STEPDOWN_FOR_BMI2_TOO __attribute__((target_clones("default", "bmi2")))
#else
#define STEPDOWN_FOR_BMI2_TOO
#endif

#endif
